"""Imports go one way, and importing does no work."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FORMULAS_MAY_IMPORT = {
    "__future__", "collections.abc", "dataclasses", "inspect", "math", "typing",
    "numpy", "numpy.typing", "reports.constants",
    "scipy.special", "statistics",  # the binomial tail and the normal quantile of meta.py
}  # fmt: skip

WATCH = """
import importlib
import pkgutil
import sys

import reports
import reports.cli

heavy = {"numpy", "pandas", "pyarrow", "pydantic", "openpyxl", "weasyprint", "jinja2"} & set(sys.modules)
assert not heavy, f"the command line must start light, so that --help is instant: {heavy}"

for theirs in ("numpy", "pandas", "pyarrow.parquet", "pydantic", "openpyxl", "weasyprint", "babel", "ziamath"):
    importlib.import_module(theirs)  # what other packages do at import is theirs

seen = []


def watch(event, args):
    if event == "open":
        path, mode = str(args[0]), str(args[1] or "r")
        data = any(f"{folder}/" in path for folder in ("catalogs", "templates", "scenarios"))
        if data or (set(mode) & set("wax+") and path != "/dev/null"):
            seen.append(f"{event} {path} {mode}")
    elif event.startswith(("subprocess.Popen", "os.system", "socket.connect")):
        seen.append(f"{event} {args!r}")


sys.addaudithook(watch)
for module in pkgutil.walk_packages(reports.__path__, "reports."):
    importlib.import_module(module.name)
print("\\n".join(seen))
"""


def modules_of(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def test_importing_reads_no_data_writes_nothing_and_starts_nothing() -> None:
    result = subprocess.run([sys.executable, "-B", "-c", WATCH], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert not result.stdout.strip(), "work at import:\n" + result.stdout


def test_formulas_import_arrays_and_constants_only(repository: Path) -> None:
    """Stricter than the import contract: also no clocks, files, random numbers or settings of the standard library."""
    wrong = []
    for path in modules_of(repository / "reports" / "formulas"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            wrong += [
                f"{path.name}:{node.lineno} imports {name}"
                for name in names
                if name not in FORMULAS_MAY_IMPORT and not name.startswith("reports.formulas")
            ]
    assert not wrong, "\n".join(wrong)


def test_an_unplaced_module_fails_the_contract(repository: Path, tmp_path: Path) -> None:
    """The layers are exhaustive: a new module that nobody placed is found by import-linter itself."""
    pytest.importorskip("importlinter")
    package = tmp_path / "reports"
    for path in modules_of(repository / "reports"):
        target = package / path.relative_to(repository / "reports")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text())
    (package / "newcomer.py").write_text('"""Nobody has placed this module."""\n')
    contracts = tmp_path / ".importlinter"
    contracts.write_text((repository / ".importlinter").read_text())
    linted = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()",
         "--no-cache", "--no-logo", str(contracts)],
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path), "PATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert linted.returncode != 0
    assert "newcomer" in linted.stdout + linted.stderr
