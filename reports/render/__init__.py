"""Frames in, documents out: the workbook, the PDF and their shared parts. Nothing here computes a number.

``translate`` turns a formula into spreadsheet and LaTeX form, ``formats`` says how a unit is shown; ``workbook`` draws
the sheets that ``sheets`` declares through ``excel_writer``; ``pdf`` fills the templates.
"""
