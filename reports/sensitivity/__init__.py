"""What would change the answer: inputs moved one by one, two at a time, and all at once by chance.

1. ``inputs``: every fact behind the money of the short list that has a low and a high, and which rows read it;
2. ``recost``: the sizing and money formulas again, for all options and all cases in one go;
3. ``tornado``, ``chances``, ``grid``, ``switching``: the four questions asked of it.
"""
