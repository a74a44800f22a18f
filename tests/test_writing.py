"""Outputs appear whole or not at all, and the manifest says what they are made of."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from reports.errors import InputError
from reports.writing import replace_folder, write_atomically


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "2026-11" / "report"
    with replace_folder(target) as draft:
        (draft / "a.txt").write_text("new")
        assert not target.exists()
    assert content(target) == {"a.txt": "new"}
    assert [path.name for path in target.parent.iterdir()] == ["report"]


def test_a_new_report_replaces_the_old_one_with_all_its_files(tmp_path: Path) -> None:
    target = tmp_path / "report"
    for name in ("old.txt", "new.txt"):
        with replace_folder(target) as draft:
            (draft / name).write_text(name)
    assert content(target) == {"new.txt": "new.txt"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interruption_leaves_the_old_report(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "report"
    with replace_folder(target) as draft:
        (draft / "a.txt").write_text("last month")
    with pytest.raises(error), replace_folder(target) as draft:  # noqa: PT012 - the block is what is interrupted
        (draft / "a.txt").write_text("half")
        raise error
    assert content(target) == {"a.txt": "last month"}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_rename_that_fails_puts_the_old_report_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report"
    with replace_folder(target) as draft:
        (draft / "a.txt").write_text("last month")
    rename = Path.rename

    def fails_for_drafts(self: Path, to: Path) -> Path:
        if ".draft." in self.name:
            raise OSError("disk full")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fails_for_drafts)
    with pytest.raises(OSError, match="disk full"), replace_folder(target) as draft:
        (draft / "a.txt").write_text("new")
    assert content(target) == {"a.txt": "last month"}
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_place_that_cannot_be_written_is_a_problem_of_the_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"), replace_folder(tmp_path / "file" / "report"):
        pass
    with pytest.raises(InputError, match="is a file"), replace_folder(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "x"


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, "one")
    write_atomically(path, "二".encode())
    assert path.read_text(encoding="utf-8") == "二"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == hashlib.sha256("二".encode()).hexdigest()
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_two_runs_do_not_write_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    with replace_folder(folder) as draft:
        (draft / "a").write_text("first")
        with pytest.raises(InputError, match="is being written by another run"), replace_folder(folder):
            pass
        with replace_folder(tmp_path / "other"):  # another folder is free
            pass
    assert (folder / "a").read_text() == "first"
    with replace_folder(folder) as draft:  # and so is this one, once the first run has ended
        (draft / "a").write_text("second")
    assert (folder / "a").read_text() == "second"
