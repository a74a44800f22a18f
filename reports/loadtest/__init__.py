"""A load test that proves or refutes a recommendation: written as a folder, run by Locust, read back as a verdict.

plan says what is asked and what must hold, folder writes it down, results reads what was measured, verdict judges it.
"""
