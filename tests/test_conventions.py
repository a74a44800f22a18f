"""The house habits, checked: names end in their unit, formulas are one expression, files stay small, words true."""

from __future__ import annotations

import ast
import csv
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from pkgutil import iter_modules

import pytest

from reports import formulas, loads
from reports.catalog.records import Catalog
from reports.columns import LEAF, LEAVES
from reports.cost.blocks import CASHFLOW, CASHFLOW_RESULTS, COST_BLOCKS, MONTH, PURCHASE_BLOCKS
from reports.field.predict import BLOCKS as MEASURED_BLOCKS
from reports.fleet import given
from reports.formulas import budget, grid, hosted, hourly
from reports.formulas.meta import Formula, FormulaInfo, info
from reports.methods import METHODS, Block
from reports.plan import growth, rows, spares
from reports.scenario.read import read_scenario
from reports.units import ENDINGS, TERMS, UNITS, promised_unit

LONGEST_FILE_LINES = 420
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "stuff"}
PATHS_NOBODY_ELSE_HAS = re.compile(r"(?<![\w.:/-])/(?:work|root|home|Users)/[\w.]|\bsha[r]ed/")
REGISTRY_HOSTS = re.compile(r"pypi[.]org|pythonhosted[.]org|npmjs[.]|deb[.]debian[.]org|archive[.]ubuntu[.]com")
UNREAD_LEAVES = {
    "tdp_w",  # shown with the card; power is reckoned from the whole server
    "peak_fp8_tflops", "peak_int8_tops", "peak_fp4_tflops",  # read as dense_peak_tflops or expert_peak_tflops
    "exchange_rate",  # read as the exchange rate of the offer or of the server price
}  # fmt: skip
"""Leaves that no formula reads under their own name, each with its reason."""


CHAINS: dict[str, tuple[Block, ...]] = {
    **{
        name: (*method.blocks(), spares.BLOCK, spares.PROOF, *COST_BLOCKS, *PURCHASE_BLOCKS, growth.BLOCK, given.BLOCK)
        for name, method in METHODS.items()
    },
    "measured runs": MEASURED_BLOCKS,
    "stated demand": (loads.BLOCK,),
    "beside the ranking": (
        *METHODS["roofline"].blocks(), spares.BLOCK, *COST_BLOCKS, *PURCHASE_BLOCKS,
        *(Block(each.__name__, each.FORMULAS) for each in (hosted, hourly, grid, budget)),
    ),
}
"""Every chain of formulas that the program evaluates, in reading order."""


PLAN = (*rows.TIMELINE, *rows.RESULTS, *rows.COMPARED, *rows.COMPARED_RESULTS)
"""The growth timeline and what is drawn from it."""


def all_formulas() -> list[Formula]:
    in_blocks = [function for blocks in CHAINS.values() for block in blocks for function in block.formulas]
    in_months = [row.formula for row in (*CASHFLOW, *PLAN) if row.formula is not None]
    return list({id(function): function for function in [*in_blocks, *in_months]}.values())


def written_formulas() -> list[Formula]:
    modules = [importlib.import_module(f"reports.formulas.{found.name}") for found in iter_modules(formulas.__path__)]
    values = [value for module in modules for value in vars(module).values()]
    return [value for value in values if isinstance(getattr(value, "info", None), FormulaInfo)]


def name_and_place(function: Formula) -> str:
    return f"{Path(inspect.getfile(function)).name}: {function.__name__}"


def tracked_files(repository: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=repository, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [repository / name for name in listed.stdout.splitlines() if (repository / name).is_file()]


def tracked_text(repository: Path) -> Iterator[tuple[str, str]]:
    for path in tracked_files(repository):
        content = path.read_bytes()
        if b"\0" not in content[:8000]:
            yield str(path.relative_to(repository)), content.decode(errors="replace")


# Names and units -------------------------------------------------------------------------------------------------


def test_every_leaf_and_formula_ends_in_its_unit() -> None:
    units = {leaf.name: leaf.unit for leaf in LEAVES}
    units |= {row.column: row.unit for row in (*CASHFLOW, *CASHFLOW_RESULTS, *PLAN)}
    wrong = [f"{name}: {unit}" for name, unit in units.items() if promised_unit(name) != unit]
    wrong += [
        f"{name_and_place(function)}: unit {info(function).unit}, the name says {promised_unit(info(function).name)}"
        for function in all_formulas()
        if promised_unit(info(function).name) != info(function).unit
    ]
    assert not wrong, (
        "rename the column so that it ends in its unit, or add a new ending to ENDINGS in reports/units.py:\n"
        + "\n".join(wrong)
    )


def test_the_list_of_units_is_closed() -> None:
    used = {leaf.unit for leaf in LEAVES} | {info(function).unit for function in all_formulas()}
    used |= {row.unit for row in (*CASHFLOW, *CASHFLOW_RESULTS, *PLAN)}
    file = "reports/units.py"
    assert used - set(UNITS) == set(), f"add these units to UNITS in {file}"
    assert set(UNITS) - used == set(), f"nothing has these units: take them out of UNITS in {file}"
    promised = {*ENDINGS.values(), *TERMS.values()}
    assert set(UNITS) - promised == set(), f"no name can promise these units: add an ending to ENDINGS in {file}"
    assert promised - set(UNITS) == set(), f"ENDINGS or TERMS in {file} promise units that UNITS lacks"


def test_terms_without_ending_are_columns() -> None:
    columns = set(LEAF) | {info(function).name for function in all_formulas()}
    assert set(TERMS) - columns == set(), "no such columns: take them out of TERMS in reports/units.py"


# Formulas --------------------------------------------------------------------------------------------------------


def test_a_formula_is_one_return_expression_with_its_own_words() -> None:
    wrong = []
    for function in all_formulas():
        (tree,) = ast.parse(inspect.getsource(function)).body
        assert isinstance(tree, ast.FunctionDef)
        body = tree.body[1:] if ast.get_docstring(tree) else tree.body
        if not ast.get_docstring(tree):
            wrong.append(f"{name_and_place(function)}: no sentence")
        if len(body) != 1 or not isinstance(body[0], ast.Return):
            wrong.append(f"{name_and_place(function)}: more than one return expression")
        names = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)}
        wrong += [f"{name_and_place(function)}: {name} is not used" for name in set(info(function).inputs) - names]
        wrong += [
            f"{name_and_place(function)}: the number {node.value} belongs in catalogs/assumptions.csv"
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, ast.Constant) and node.value not in (0, 1, 2)
        ]
        if not info(function).label or not info(function).sources:
            wrong.append(f"{name_and_place(function)}: no label or no source in its @formula(...)")
    assert not wrong, "\n".join(wrong)


def test_every_parameter_is_a_leaf_or_an_earlier_column() -> None:
    wrong = []
    for chain, blocks in CHAINS.items():
        known, made = set(LEAF), set()
        for block in blocks:
            for function in block.formulas:
                column = block.column(info(function).name)
                place = f"{chain}, {block.title}, {column}"
                reads = {block.resolve(parameter) for parameter in info(function).inputs}
                wrong += [
                    f"{place}: {read} is not known yet: make it in a formula above, or add a row to reports/leaves.py"
                    for read in sorted(reads - known)
                ]
                if column in made or column in LEAF:
                    wrong.append(f"{place}: made twice")
                known.add(column)
                made.add(column)
        if chain not in METHODS:
            continue
        known.add(MONTH)
        for row in (*CASHFLOW, *CASHFLOW_RESULTS, *PLAN):
            wrong += [f"{chain}, {row.column}: {read} is not known yet" for read in set(row.reads) - known]
            known.add(row.column)
    assert not wrong, "\n".join(wrong)


def test_every_leaf_is_read_by_a_formula() -> None:
    read = {
        block.resolve(parameter)
        for blocks in CHAINS.values()
        for block in blocks
        for function in block.formulas
        for parameter in info(function).inputs
    }
    read |= {name for row in (*CASHFLOW, *PLAN) for name in row.reads}
    unread = set(LEAF) - read
    assert unread - UNREAD_LEAVES == set(), "no formula reads these: take them out of reports/leaves.py"
    assert UNREAD_LEAVES - unread == set(), "formulas read these now: take them out of UNREAD_LEAVES in this file"


def test_no_formula_lies_idle() -> None:
    used = {id(function) for function in all_formulas()}
    idle = [name_and_place(function) for function in written_formulas() if id(function) not in used]
    assert idle == [], "add them to FORMULAS of their file in reports/formulas/"


def test_every_source_of_a_formula_is_in_the_catalog(repository: Path) -> None:
    with (repository / "catalogs" / "sources.csv").open(newline="", encoding="utf-8") as file:
        known = {row["id"] for row in csv.DictReader(file)}
    named = {(name_and_place(function), source) for function in all_formulas() for source in info(function).sources}
    assert {(place, source) for place, source in named if source not in known} == set(), "add to catalogs/sources.csv"


# Files -----------------------------------------------------------------------------------------------------------


def test_files_stay_small_and_start_with_a_sentence(repository: Path) -> None:
    wrong = []
    for path in tracked_files(repository):
        if path.suffix == ".py":
            text = path.read_text()
            lines = text.splitlines()
            name = path.relative_to(repository)
            if len(lines) > LONGEST_FILE_LINES and "long because" not in lines[0]:
                wrong.append(f"{name}: {len(lines)} lines; split it, or say why on its first line")
            if not ast.get_docstring(ast.parse(text)):
                wrong.append(f"{name}: no docstring")
    assert not wrong, "\n".join(wrong)


def test_no_file_has_a_name_that_says_nothing(repository: Path) -> None:
    vague = [path for path in tracked_files(repository) if set(path.stem.lower().split("_")) & VAGUE_NAMES]
    assert vague == []


def test_no_path_or_host_that_only_one_machine_has(repository: Path) -> None:
    wrong = [
        f"{name}: {found.group()}"
        for name, text in tracked_text(repository)
        for pattern in (PATHS_NOBODY_ELSE_HAS, REGISTRY_HOSTS)
        for found in pattern.finditer(text)
    ]
    assert not wrong, "\n".join(wrong)


# Words that must stay true ---------------------------------------------------------------------------------------


def test_readme_names_targets_files_and_verbs_that_exist(repository: Path) -> None:
    readme = (repository / "README.md").read_text()
    targets = set(re.findall(r"^([a-z]+):", (repository / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"`?\bmake ([a-z]+)`", readme)) - targets == set()
    links = re.findall(r"\]\((?!http|#)([^)#]+)", readme)
    assert [link for link in links if not (repository / link).exists()] == []


def test_readme_and_command_line_name_the_same_verbs(repository: Path) -> None:
    from typer.main import get_command

    from reports.cli import app

    readme = (repository / "README.md").read_text()
    in_readme = set(re.findall(r"\bgpubook ([a-z]+)\b", readme)) - {"is"}
    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert in_readme == commands, "the table of commands in README.md"


def test_the_scenario_in_the_readme_is_good(repository: Path, catalog: Catalog, tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (repository / "README.md").read_text(), flags=re.DOTALL)
    (tmp_path / "my-service.yaml").write_text(example)
    assert read_scenario(tmp_path / "my-service.yaml", catalog).period == "2026-11"


def test_what_is_imported_is_declared_and_the_other_way_round(repository: Path) -> None:
    nodes = [node for path in (repository / "reports").rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    packages = {name.split(".")[0] for name in imported} - sys.stdlib_module_names - {"reports"}
    homes = packages_distributions()
    needed = {home.lower() for package in packages for home in homes.get(package, [package])}
    declared = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["dependencies"]
    assert needed == {re.split(r"[<>=! ]", requirement)[0].lower() for requirement in declared}


def test_every_dependency_has_its_reason(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    decisions = (repository / "DECISIONS.md").read_text().lower()
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = [re.split(r"[<>=!\[ ]", requirement, maxsplit=1)[0].lower() for requirement in wanted]
    assert [name for name in names if name not in decisions] == [], "give the reason in DECISIONS.md"


def test_every_release_says_which_numbers_changed(repository: Path) -> None:
    releases = re.split(r"^## ", (repository / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    assert releases
    assert all("### Numbers changed" in release for release in releases)
