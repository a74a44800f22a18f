"""The base of every record that is read from a file: unknown keys are refused, and nothing changes after reading."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Unknown keys are refused, and nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False, use_attribute_docstrings=True)
