"""Writes the 80 % bands and the printed errors anew, from the shipped rows: about five minutes on one core.

To be run when a formula or a coefficient moved what is predicted of measured rows. The fit is repeated without each
model, card and engine; a row is predicted by the fit that has not seen it (docs/ROOFLINE.md, what a band means).
"""

from __future__ import annotations

import pandas as pd

from reports.catalog.read import read_catalog
from reports.field.bands import measure_bands
from reports.field.fit import leave_one_out
from reports.field.predict import predict
from reports.field.reading import load
from reports.paths import catalogs_folder

WIDER = 1.1
"""Exponent on the factors of what was measured nowhere near: the next card differs more than those we left out."""


def main() -> None:
    """Predict every row with and without its group, then write both tables."""
    catalog = read_catalog()
    rows = load([], catalog)
    known = {"": predict(rows, catalog)}
    for group in ("model", "gpu", "engine"):
        known[group] = leave_one_out(rows, catalog, group)
    model, gpu = known["model"], known["gpu"]
    bands = measure_bands(pd.concat([known[""], model], ignore_index=True), "measured")
    bands += measure_bands(model, "interpolated")
    for band in measure_bands(pd.concat([model, gpu], ignore_index=True), "extrapolated"):
        bands.append(band | {name: round(float(str(band[name])) ** WIDER, 3) for name in ("low_factor", "high_factor")})
    folder = catalogs_folder() / "measured"
    pd.DataFrame(bands).to_csv(folder / "bands.csv", index=False, lineterminator="\n")
    printed = pd.read_csv(folder / "errors.csv", dtype=str, keep_default_na=False)
    for index, row in printed.iterrows():
        own = known[row["left_out"]]
        good = own[(own["use"] == "fit") & (own["trap"] == "") & own["value"].gt(0) & own["predicted"].gt(0)]
        good = good[(good["metric"] == row["metric"]) & (good["start"] == row["start"])]
        error = (good["predicted"] / good["value"] - 1).abs()
        printed.loc[index, "n"] = str(len(good))
        printed.loc[index, "median_error_share"] = f"{error.median():.3f}"
        printed.loc[index, "p90_error_share"] = f"{error.quantile(0.9):.2f}"
    printed.to_csv(folder / "errors.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
