"""A wheel built from the repository works on its own: catalogs and templates travel inside it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


def run(*command: str, cwd: Path, site: Path | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if site is not None:
        environment["PYTHONPATH"] = str(site)
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--disable-pip-version-check", "--wheel-dir", str(folder), str(repository),
        cwd=folder,
    )  # fmt: skip
    (built,) = folder.glob("gpubook-*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel installed where no checkout is near; its dependencies come from this environment."""
    folder = tmp_path_factory.mktemp("elsewhere")
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check",
        "--target", str(folder / "site"), str(wheel),
        cwd=folder,
    )  # fmt: skip
    return folder / "site"


def test_every_shipped_catalog_and_template_is_inside(wheel: Path, repository: Path) -> None:
    folders = (repository / "catalogs", repository / "templates")
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    wanted = {"reports/_" + str(path.relative_to(repository)) for path in files}
    assert wanted
    assert wanted - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_nothing_else_is_inside(wheel: Path) -> None:
    strange = [
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if not name.startswith(("reports/", "gpubook-")) or "__pycache__" in name
    ]
    assert strange == []


def test_it_runs_from_elsewhere_on_its_own_catalogs(site: Path, repository: Path, tmp_path: Path) -> None:
    where = run(sys.executable, "-c", "import reports; print(reports.__file__)", cwd=tmp_path, site=site).strip()
    assert Path(where).is_relative_to(site)
    listed = run(sys.executable, str(site / "bin" / "gpubook"), "catalog", "list", "gpus", cwd=tmp_path, site=site)
    assert "h100" in listed.lower()
    scenario = tmp_path / "own.yaml"
    scenario.write_text((repository / "scenarios" / "eight-a100-7b.yaml").read_text())
    run(sys.executable, str(site / "bin" / "gpubook"), "check", "own.yaml", cwd=tmp_path, site=site)
