"""gpubook: which cards, how many, how connected, rent or buy, and how do we know.

The flow, one module a step (``pipeline.py`` has it on one page)::

    scenario/ + catalog/  ->  matrix  ->  evaluate (formulas/)  ->  constraints  ->  recommend  ->  cost/
                                                                                        |
                                             render/ (workbook, PDF)  <-  Run  <--------+

Importing this package does nothing; ``gpubook --help`` lists the commands.
"""
