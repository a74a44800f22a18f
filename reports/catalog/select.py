"""Finds entries by any of their names, and assumptions by name and region."""

from __future__ import annotations

import re
from collections.abc import Mapping

from reports.catalog.records import Assumption, Catalog, Entry
from reports.errors import GpubookError
from reports.strict_yaml import did_you_mean


class UnknownName(GpubookError, LookupError):
    """No entry has this name; the message suggests one that has."""


def plain(name: str) -> str:
    """A name as it is compared: case, spaces, hyphens and underscores make no difference."""
    return re.sub(r"[\s_-]+", "-", name.strip().casefold())


def names_of(entry: Entry) -> dict[str, str]:
    """Every way to call an entry, as compared -> as written."""
    return {plain(name): name for name in (entry.id, entry.name, *entry.aliases)}


def find(entries: Mapping[str, Entry], name: str, kind: str) -> str:
    """The id of the entry with this id, name or alias; UnknownName (a LookupError) otherwise."""
    if name in entries:
        return name
    wanted = plain(name)
    for entry in entries.values():
        if wanted in names_of(entry):
            return entry.id
    others = [written for entry in entries.values() for written in (entry.name, *entry.aliases)]
    hint = did_you_mean(name, [*others, *entries])
    raise UnknownName(f'unknown {kind} "{name}"' + (f"; {hint}" if hint else ""))


def assumption(catalog: Catalog, name: str, region: str) -> Assumption:
    """The assumption for a region, or the global one; UnknownName otherwise."""
    found = catalog.assumptions.get((name, region)) or catalog.assumptions.get((name, "global"))
    if found is None:
        hint = did_you_mean(name, sorted({known for known, _ in catalog.assumptions}))
        raise UnknownName(f'unknown assumption "{name}"' + (f"; {hint}" if hint else ""))
    return found
