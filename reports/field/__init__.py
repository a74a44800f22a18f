"""Measured servers: reading what others measured, predicting it, scoring the difference, fitting the coefficients."""
