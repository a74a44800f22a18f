"""A report folder: its documents come out the same whether workers write them side by side or one process does."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from reports import outputs
from reports.catalog.records import Catalog
from reports.errors import RenderError
from reports.pipeline import evaluate
from reports.run import Run
from reports.scenario.read import read_scenario


@pytest.fixture(scope="module")
def run(catalog: Catalog, repository: Path) -> Run:
    return evaluate(read_scenario(repository / "scenarios" / "eight-a100-7b.yaml", catalog), catalog)


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_two_workers_and_one_process_write_the_same_bytes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "_cores", lambda: 1)
    outputs.write_outputs(run, tmp_path / "alone", lambda step: None)
    monkeypatch.setattr(outputs, "_cores", lambda: 2)
    steps: list[str] = []
    outputs.write_outputs(run, tmp_path / "together", steps.append)
    alone, together = written(tmp_path / "alone"), written(tmp_path / "together")
    assert steps[-2:] == ["monthly-procurement.en.pdf", "monthly-procurement.zh.pdf"]
    assert list(alone) == list(together)
    assert [name for name in alone if alone[name] != together[name]] == []


def test_a_failure_in_a_worker_is_the_failure_of_the_build(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "_cores", lambda: 2)
    scenario = run.scenario.model_copy(update={"reports": ("no-such-kind",)})
    unknown = Run(**{**vars(run), "scenario": scenario})
    with pytest.raises(RenderError, match="no-such-kind"):
        outputs.write_outputs(unknown, tmp_path / "out", lambda step: None)
    assert list(tmp_path.iterdir()) == []


def test_where_no_worker_starts_this_process_writes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(outputs, "_write_document", lambda run, kind, language, path: done.append(path.name))

    class Broken:
        def result(self) -> None:
            raise BrokenProcessPool

    class Pool:
        def __init__(self, *_: object, **__: object) -> None: ...

        def submit(self, *_: object) -> Broken:
            return Broken()

        def shutdown(self, **_: object) -> None: ...

    monkeypatch.setattr(outputs, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(outputs, "_cores", lambda: 2)
    outputs.write_outputs(run, tmp_path / "out", lambda step: None)
    assert done == ["monthly-procurement.en.pdf", "monthly-procurement.zh.pdf"]
