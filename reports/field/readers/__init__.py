"""Results of benchmark tools and logs of servers -> measured rows.

``detect.read`` looks at the content, picks the reader and returns rows of ``rows.COLUMNS``, or raises InputError with
the file, the line and the reason. Readers state only what the file states: a card that is not named stays ''.
"""
