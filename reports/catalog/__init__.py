"""Facts with their provenance: catalogs/ (and overlays) -> read -> frozen records -> select.

``records`` says what an entry is, ``read`` loads every file strictly and lists all problems at once, ``select`` finds
an entry by any of its names, ``browse`` makes the lists that ``gpubook catalog`` prints.
"""
