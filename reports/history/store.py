"""What a run keeps of its inputs, so that next month it can be repeated and compared: scenario, traces, catalogs."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from reports.catalog.records import Catalog
from reports.errors import InputError, Problem
from reports.paths import catalogs_folder
from reports.scenario.schema import Scenario

NAME = "inputs.zip"
SCENARIO, CATALOGS, OVERLAYS = "scenario", "catalogs", "overlays"
MOST_TRACE_BYTES = 32 * 2**20
"""A trace that is larger is left out, and a run with it cannot be repeated from its folder alone."""

_UNREAD = "catalogs/links/curves.csv"
"""Lies in the catalogs for people; nothing reads it."""


def write(scenario: Scenario, catalog: Catalog, scenario_folder: Path, path: Path) -> None:
    """Write the archive. Nothing of the day or the machine is in it; InputError where a file changed meanwhile."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in _entries(scenario, catalog, scenario_folder):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)


def _entries(scenario: Scenario, catalog: Catalog, scenario_folder: Path) -> Iterator[tuple[str, bytes]]:
    yield f"{SCENARIO}/{scenario.name}.yaml", scenario.text.encode()
    for name in (*traces(scenario), *theme_files(scenario), *template_files(scenario)):
        data = (scenario_folder / name).read_bytes()
        if len(data) <= MOST_TRACE_BYTES:
            yield f"{SCENARIO}/{name}", data
    folders = [(catalogs_folder(), CATALOGS, f"{CATALOGS}/")]
    for number, overlay in enumerate(map(Path, catalog.overlays), 1):
        folders.append((overlay, f"{OVERLAYS}/{number}/{overlay.name}", f"{overlay.name}/"))
    digests = list(catalog.files)
    for folder, place, label in folders:
        while digests and digests[0][0].startswith(label) and (folder / digests[0][0].removeprefix(label)).is_file():
            name, digest = digests.pop(0)
            data = (folder / name.removeprefix(label)).read_bytes()
            if hashlib.sha256(data).hexdigest() != digest:
                raise InputError(Problem(name, "changed while the report was made", hint="build again"))
            if name != _UNREAD:
                yield str(PurePosixPath(place) / name.removeprefix(label)), data


def traces(scenario: Scenario) -> list[str]:
    """The files of requests that a scenario reads, from its folder."""
    asked = [scenario.workload, *(each.workload for each in scenario.services)]
    return list(dict.fromkeys(each.trace.file for each in asked if each is not None and each.trace is not None))


def theme_files(scenario: Scenario) -> list[str]:
    """The theme file of a scenario and its logo, from its folder."""
    if not scenario.theme:
        return []
    logo = [Path(scenario.theme).parent.joinpath(scenario.look.logo).as_posix()] if scenario.look.logo else []
    return [scenario.theme, *logo]


def template_files(scenario: Scenario) -> list[str]:
    """The files of the template folder of a scenario, from its folder."""
    return [f"{Path(scenario.templates).as_posix()}/{name}" for name in scenario.own_templates]
