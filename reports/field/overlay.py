"""Writes what a calibration found as a dated overlay catalog: coefficients, their source, and the rows behind them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path

import yaml

from reports.catalog.records import Assumption, Catalog, Fact
from reports.catalog.tables import TABLES
from reports.errors import InputError, Problem
from reports.field.calibrate import Calibration, Moved, errors
from reports.writing import replace_folder, write_atomically

_OURS = {"assumptions.csv", "sources.csv", "engines", "measured", "README.md"}
"""What an overlay of ours holds; a folder with anything else in it is not replaced."""

LOCATOR_FILES = 6


def data_hash(files: Sequence[Path]) -> str:
    """SHA-256 over the SHA-256 of every file, in the order of their hashes: names and order do not matter."""
    each = sorted(_file_hash(path) for path in files)
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode()).hexdigest()


def _file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write(result: Calibration, catalog: Catalog, folder: Path) -> tuple[Path, ...]:
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
    with replace_folder(folder) as draft:
        write_atomically(
            draft / "sources.csv",
            _csv("sources.csv", [{
                "id": source, "title": f"Calibration on own measurements, {result.fitted_rows} rows",
                "locator": f"{locator}; SHA-256 {digest}", "licence": "own work", "checked_on": result.date,
            }]),
        )  # fmt: skip
        rows = [_assumption(each, catalog, source, result) for each in moved if ":" not in each.name]
        if rows:
            write_atomically(draft / "assumptions.csv", _csv("assumptions.csv", rows))
        for each in moved:
            fact, _, engine = each.name.partition(":")
            if engine:
                (draft / "engines").mkdir(exist_ok=True)
                path = draft / "engines" / f"{engine}.yaml"
                write_atomically(path, _engine(catalog, engine, fact, each, source, result.date))
        (draft / "measured").mkdir()
        kept = result.rows.drop(columns=["row_id"]).to_csv(index=False, lineterminator="\n")
        write_atomically(draft / "measured" / "calibration_rows.csv", kept)
        write_atomically(draft / "measured" / "calibration.json", _summary(result, digest, source))
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def _csv(table: str, rows: Sequence[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(TABLES[table]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _number(value: float) -> str:
    return f"{value:.6g}"


def _assumption(each: Moved, catalog: Catalog, source: str, result: Calibration) -> dict[str, object]:
    shipped: Assumption = catalog.assumptions[each.name, "global"]
    return {
        "name": each.name, "region": "global", "currency": shipped.currency, "low": _number(each.low),
        "mid": _number(each.value), "high": _number(each.high), "unit": shipped.unit, "basis": "measured",
        "source": source, "locator": "90 % interval", "checked_on": result.date,
        "note": f"before: {each.shipped:g}; held near it by a prior; {result.fitted_rows} rows",
    }  # fmt: skip


def _engine(catalog: Catalog, engine: str, fact: str, each: Moved, source: str, date: str) -> str:
    """The whole entry with one fact replaced: an overlay entry takes the place of the shipped one."""
    entry = catalog.engines[engine]
    facts = {name: _fact(found) for name, found in entry.facts.items()}
    facts[fact] = {
        "value": float(_number(each.value)), "low": float(_number(each.low)), "high": float(_number(each.high)),
        "basis": "measured", "source": source, "at": date, "confidence": "medium", "confirmed": True,
        "note": f"before: {each.shipped:g}; 90 % interval",
    }  # fmt: skip
    document = {
        "name": entry.name, "aliases": list(entry.aliases), "note": entry.note, "source": source, "at": date,
        "basis": "measured", "confidence": "medium", "confirmed": True, "facts": facts,
    }  # fmt: skip
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
    return text


def _fact(found: Fact) -> dict[str, object]:
    made: dict[str, object] = {"value": found.value}
    made |= {name: getattr(found, name) for name in ("low", "high") if getattr(found, name) is not None}
    made |= {"basis": found.basis, "source": found.source, "at": found.at, "confidence": found.confidence}
    made |= {"confirmed": found.confirmed} | ({"note": found.note} if found.note else {})
    return made


def _summary(result: Calibration, digest: str, source: str) -> str:
    table = errors(result)
    return (
        json.dumps(
            {
                "source": source, "date": result.date, "sha256": digest,
                "files": {path.name: _file_hash(path) for path in result.files},
                "rows": len(result.rows), "fitted_rows": result.fitted_rows,
                "errors": json.loads(table.to_json(orient="records")),
                "coefficients": [vars(each) for each in result.coefficients],
            },
            indent=1,
        )
        + "\n"
    )  # fmt: skip
