"""What all tests share: how many examples hypothesis tries, the repository's folder, and the shipped catalog."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from reports.catalog.records import Catalog

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("test", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("fuzz", max_examples=5000, deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test over generated inputs carries the mark that `make fuzz` chooses by."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.property)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top folder of the checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """The shipped catalog, read once."""
    from reports.catalog.read import read_catalog

    return read_catalog()
