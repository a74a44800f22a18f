"""What one server really is: its cards, links, processors and traps, read from it or from what its tools printed.

detect picks a reader for each file; merge puts the readings of one server together; traps says what is wrong with it;
overlay writes it as facts of a catalog, basis *measured*. Bandwidths and models are measured, or read, beside it.
"""
