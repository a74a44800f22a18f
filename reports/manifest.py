"""What a report was made from and what it consists of, so that next month's reader can check and repeat it."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from reports.catalog.records import Catalog
from reports.pricebook.pin import state
from reports.run import Run
from reports.scenario.schema import Scenario
from reports.writing import write_atomically

NAME = "manifest.json"


def write_manifest(run: Run, folder: Path) -> Path:
    """Write ``manifest.json`` about everything else in the folder; no wall clock, so the same input gives the same."""
    path = folder / NAME
    write_atomically(path, json.dumps(manifest(run, folder), indent=2, ensure_ascii=False, default=str) + "\n")
    return path


def manifest(run: Run, folder: Path) -> dict[str, Any]:
    """Program version, inputs with their hashes, changes against the scenario file, outputs with hashes and sizes."""
    scenario, catalog, about = run.scenario, run.catalog, run.variance_about
    return {
        "program": {"name": "gpubook", "version": program_version(), "code": code_digest()},
        "scenario": {
            "name": scenario.name,
            "period": scenario.period,
            "as_of": scenario.as_of.isoformat(),
            "files": [{"path": path, "sha256": digest} for path, digest in scenario.files],
            "changes": [{"path": path, "old": old, "new": new} for path, old, new in scenario.changes],
        },
        "prices": _prices(run),
        "catalog": {
            "overlays": list(catalog.overlays),
            "files": [{"path": path, "sha256": digest} for path, digest in catalog.files],
        },
        **({"previous": dict(zip(about["key"], about["value"], strict=True))} if len(about) else {}),
        "outputs": [
            {"file": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size, "sha256": file_digest(path)}
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != NAME and not path.name.startswith(".")
        ],
    }


def _prices(run: Run) -> dict[str, Any]:
    """The state of the price book, as a scenario pins it."""
    pin = run.scenario.prices.pin
    found = state(run.catalog, pin.as_of if pin else run.scenario.as_of)
    return {"as_of": found.as_of.isoformat(), "sha256": found.sha256, "rows": found.rows, "pinned": pin is not None}


def program_version() -> str:
    """Version of the installed distribution; ``unknown`` when the package runs without being installed."""
    try:
        return metadata.version("gpubook")
    except metadata.PackageNotFoundError:
        return "unknown"


@cache
def code_digest() -> str:
    """SHA-256 over the program's own files: two runs with one digest were reckoned by the same code."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(here.rglob("*.py")):
        digest.update(path.relative_to(here).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def inputs_digest(scenario: Scenario, catalog: Catalog) -> str:
    """SHA-256 over the hashes of everything a run was made from, in the order read."""
    return hashlib.sha256("".join(code for _, code in (*scenario.files, *catalog.files)).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
