"""Writes what a calibration found as a dated overlay catalog: coefficients, what they are measured on, and the rows."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path

from reports.catalog.tables import TABLES
from reports.columns import LEAF
from reports.errors import InputError, Problem
from reports.field.calibrate import Calibration, Moved, errors
from reports.field.canonical import CANONICAL
from reports.field.reading import file_hash
from reports.writing import replace_folder, write_atomically

ROWS = "calibration_rows.csv"
SUMMARY = "calibration.json"

_OURS = {"assumptions.csv", "sources.csv", "engines", "measured", "README.md"}
"""What an overlay of ours holds; a folder with anything else in it is not replaced."""

LOCATOR_FILES = 6


def data_hash(files: Sequence[Path]) -> str:
    """SHA-256 over the SHA-256 of every file, in the order of their hashes: names and order do not matter."""
    each = sorted(file_hash(path) for path in files)
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode()).hexdigest()


def write(result: Calibration, folder: Path) -> tuple[Path, ...]:
    """Write the overlay that ``--catalog FOLDER`` takes; the files written. InputError when the folder is in use."""
    folder = Path(folder)
    moved = [each for each in result.coefficients if each.seen]
    if not moved:
        raise InputError(Problem(str(folder), "nothing to write: no coefficient is visible in these measurements"))
    if folder.is_dir():
        strange = sorted(each.name for each in folder.iterdir() if each.name not in _OURS)
        if strange:
            raise InputError(
                Problem(str(folder), "is not an overlay of a calibration", read=", ".join(strange[:5]),
                        expected="a new folder", hint="choose another with --out")
            )  # fmt: skip
    digest = data_hash(result.files)
    source = f"calibration-{result.date}-{digest[:8]}"
    names = sorted(path.name for path in result.files)
    locator = ", ".join(names[:LOCATOR_FILES]) + (f" and {len(names) - LOCATOR_FILES} more" if len(names) > 6 else "")
    title = f"Calibration on own measurements, {result.fitted_rows} rows: {'; '.join(pairs(result))}"
    with replace_folder(folder) as draft:
        write_atomically(
            draft / "sources.csv",
            _csv("sources.csv", [{
                "id": source, "title": title, "locator": f"{locator}; SHA-256 {digest}", "licence": "own work",
                "checked_on": result.date,
            }]),
        )  # fmt: skip
        write_atomically(
            draft / "assumptions.csv", _csv("assumptions.csv", [_assumption(each, source, result) for each in moved])
        )
        (draft / "measured").mkdir()
        write_atomically(draft / "measured" / ROWS, _rows(result, source))
        write_atomically(draft / "measured" / SUMMARY, _summary(result, digest, source))
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def pairs(result: Calibration) -> list[str]:
    """Each card and engine that coefficients were measured on, with the models and formats that ran."""
    return [
        f"{each['gpu']} under {each['engine']} with {', '.join(each['models'])} in {', '.join(each['formats'])}"
        for each in result.measured_on()
    ]


def _csv(table: str, rows: Sequence[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(TABLES[table]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _assumption(each: Moved, source: str, result: Calibration) -> dict[str, object]:
    low, mid, high = (f"{value:.6g}" for value in (each.low, each.value, each.high))
    return {
        "name": each.name, "region": "global", "currency": "", "low": low, "mid": mid, "high": high,
        "unit": LEAF[each.name].unit, "basis": "measured", "source": source, "locator": "90 % interval",
        "checked_on": result.date, "note": f"before: {each.shipped:g}; held near it by a prior; {each.rows} rows",
        "engine": each.engine, "gpu": each.gpu,
    }  # fmt: skip


def _rows(result: Calibration, source: str) -> str:
    """The matched rows in our own columns, so that ``validate`` reads them; each with an id of this calibration."""
    kept = result.rows.copy()
    kept["row_id"] = [f"{source}:{number}" for number in range(1, len(kept) + 1)]
    kept["source"] = [f"{source}: {said}" for said in kept["source"]]
    kept["file"] = [Path(name).name for name in kept["file"]]
    columns = [*CANONICAL, "predicted_before", "predicted_after", "left_out"]
    text: str = kept[columns].to_csv(index=False, lineterminator="\n")
    return text


def _summary(result: Calibration, digest: str, source: str) -> str:
    table = errors(result)
    record = {
        "source": source, "date": result.date, "sha256": digest,
        "files": {path.name: file_hash(path) for path in result.files},
        "rows": len(result.rows), "fitted_rows": result.fitted_rows, "measured_on": result.measured_on(),
        "errors": json.loads(table.to_json(orient="records")),
        "coefficients": [vars(each) for each in result.coefficients],
    }  # fmt: skip
    return json.dumps(record, indent=1) + "\n"
