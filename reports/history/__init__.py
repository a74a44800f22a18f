"""The difference between two runs, and why: what a run keeps of its inputs, and how a change in money is attributed.

1. ``store`` keeps the scenario and the catalogs of a run in its folder.
2. ``past`` reads an earlier run from its folder.
3. ``steps`` lists the classes of causes and mixes the inputs of two runs, one class after the other.
4. ``held`` reckons what an earlier choice costs under such inputs.
5. ``attribute`` turns the amounts into causes that add up to the cent.
"""
