"""Every equation of the product, written once: arrays in, array out.

One module a topic. A module lists its formulas in reading order in ``FORMULAS``; ``reports.methods`` strings modules
into methods. A formula is named after the column it makes, its parameters after the columns it reads, and its body is
one return expression of the closed list in ``meta``, so that ``reports.render.translate`` can turn it into a live
spreadsheet formula and into a typeset equation.
"""
