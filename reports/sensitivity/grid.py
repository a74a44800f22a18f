"""Two inputs at once: the hours for which cards are rented against the rent price, and which way is cheaper there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from reports.formulas import grid as formulas

HOURS_SHARES: Sequence[float] = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Positions of the columns; no result depends on where they stand."""
PRICE_FACTORS: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
"""Positions of the rows, as factors on the rent of the option."""

COLUMNS = ("service", "option_id", "hours_share", "price_factor", "rent_amount_per_month", "saving_amount_per_month")


def grid(winners: pd.DataFrame) -> pd.DataFrame:
    """Long, one row a cell of each winner that has both prices: rent there, and what owning saves (negative: rent)."""
    both = winners["rent_equivalent_amount_per_month"].notna() & winners["buy_equivalent_amount_per_month"].notna()
    rows = winners[both]
    if rows.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    factor, share = (each.ravel() for each in np.meshgrid(PRICE_FACTORS, HOURS_SHARES, indexing="ij"))
    rent = rows["rent_equivalent_amount_per_month"].to_numpy(dtype=float)[:, np.newaxis]
    buy = rows["buy_equivalent_amount_per_month"].to_numpy(dtype=float)[:, np.newaxis]
    cell = formulas.grid_rent_amount_per_month(rent, share, factor)
    cells = len(share)
    return pd.DataFrame(
        {
            "service": np.repeat(rows["service"].astype(str).to_numpy(dtype=object), cells),
            "option_id": np.repeat(rows["option_id"].astype(str).to_numpy(dtype=object), cells),
            "hours_share": np.tile(share, len(rows)),
            "price_factor": np.tile(factor, len(rows)),
            "rent_amount_per_month": cell.ravel(),
            "saving_amount_per_month": formulas.grid_saving_of_cell_amount_per_month(rent, share, factor, buy).ravel(),
        }
    )
