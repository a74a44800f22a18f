"""Vendor quotes: a spreadsheet of somebody else -> cells -> lines -> price rows of an overlay catalog, with a preview.

``cells`` opens the file within limits, ``words`` knows what headers mean, ``lines`` reads the table and checks it,
``match`` finds the cards, ``overlay`` writes, ``pin`` holds a price book to one date.
"""
