"""What an option costs, in steps.

``offers`` finds the prices (the cheapest eligible rent, the server to buy), ``blocks`` lists the money formulas and
ranks, ``timeline`` lays the short list out month by month, ``lines`` writes the cost lines: totals are their sums.
"""
