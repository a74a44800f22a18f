"""Several services on one pool of cards: what to keep, buy, rent and release, in steps.

``layouts`` turns evaluated candidates into the few ways each service can be run, ``sources`` lists where cards come
from (present entries, servers to buy, instances to rent), ``program`` chooses whole units and whole machines as an
integer program, ``packing`` puts the units into machines, ``proof`` checks the result without trusting any of them,
``shortage`` says what an impossible fleet lacks, ``plan`` runs all of it and makes the frames of the report.
"""
