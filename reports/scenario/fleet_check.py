"""What the present fleet must be to be planned with: cards of the matrix, in servers that hold them, not given back."""

from __future__ import annotations

from reports.catalog.records import Catalog
from reports.errors import Problem
from reports.scenario.merge import Merged
from reports.scenario.schema import ScenarioFile, last_day
from reports.yaml_problems import where


def check_fleet(file: ScenarioFile, merged: Merged, catalog: Catalog) -> list[Problem]:
    """Every entry that no plan could use."""
    problems = []

    def problem(path: tuple[str | int, ...], message: str, **more: str) -> None:
        place, line, column = merged.place(path)
        problems.append(Problem(place, message, line, column, where=where(path), **more))

    day = file.as_of or last_day(file.period)
    for index, entry in enumerate(file.fleet):
        if entry.gpu in catalog.gpus and entry.gpu not in file.matrix.gpu:
            problem(("fleet", index, "gpu"), "is not in matrix.gpu", read=f'"{entry.gpu}"',
                    expected=", ".join(file.matrix.gpu), hint="only cards of the matrix are evaluated: add it there")
        if entry.lease_ends is not None and entry.lease_ends < day:
            problem(("fleet", index, "lease_ends"), "is over before the report is made",
                    read=entry.lease_ends.isoformat(), expected=f"a day from {day.isoformat()} on",
                    hint="cards that were given back are no part of the fleet: leave the entry out")
        host = catalog.hosts.get(catalog.gpus[entry.gpu].host) if entry.gpu in catalog.gpus else None
        if host is not None and entry.servers is not None:
            most = int(host.value("server_cards")) * entry.servers
            if entry.cards > most:
                problem(("fleet", index, "cards"), "do not fit into these servers", read=str(entry.cards),
                        expected=f"at most {most} cards in {entry.servers} servers of {host.value('server_cards'):g}")
    return problems
