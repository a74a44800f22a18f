"""Unit factors and conventions. Nothing here can be argued about; what can is a row in catalogs/assumptions.csv."""

BYTES_PER_GB = 1e9
BYTES_PER_GIB = 1024.0**3
GIB_PER_GB = BYTES_PER_GIB / BYTES_PER_GB
"""One GiB is 1.0737 GB: divide GB by it to get GiB."""
PARAMETERS_PER_BILLION = 1e9
FLOP_PER_TFLOP = 1e12
MS_PER_S = 1000.0
US_PER_MS = 1000.0
BYTES_PER_16BIT = 2.0
YUAN_PER_WAN, YUAN_PER_YI = 1e4, 1e8
"""万 and 亿, the steps in which Chinese counts money."""
MONTHS_PER_YEAR = 12.0
SECONDS_PER_HOUR = 3600.0
HOURS_PER_MONTH = 730.0
"""8,760 hours a year over twelve months: the convention of cloud price lists."""
HOURS_PER_YEAR = HOURS_PER_MONTH * MONTHS_PER_YEAR
MINUTES_PER_HOUR = 60.0
WEEKS_PER_MONTH = HOURS_PER_MONTH / 168.0
"""A month of 730 hours over a week of 168."""
MONTHS_PER_QUARTER = 3.0
TOKENS_PER_MILLION = 1e6
CARDS_PER_STAFF_RATE = 100.0
"""Staff is stated for 100 cards."""
HOURS_PER_DAY = 24.0
HOURS_PER_WEEK = 168.0
DAYS_PER_WEEK = 7.0
PCIE_LANES = 16.0
"""Lanes of the slot that a full link to a card has."""
ROUNDING_GUARD = 1e-9
"""Relative guard of floor and ceil, the same in NumPy and in the workbook: 8 x 0.7 / 0.8 is 7, not 6."""
