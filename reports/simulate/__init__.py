"""Discrete-event simulation of the short list: does the recommended load keep its targets when requests queue?

In steps: ``step_model`` turns an option's formulas into step times; ``arrivals`` draws the requests; ``engine`` runs
them (its inner loop is ``kernel``, compiled by ``compiled``); ``statistics`` cuts the warm-up and puts intervals on
repeats; ``check`` sets the results beside the closed form and lets the simulation decide.
"""
