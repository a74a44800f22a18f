"""Every formula has a spreadsheet form that computes the same, and a LaTeX form; what has none is refused."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import Workbook
from recalculate import recalculate, same, values

from reports.constants import ROUNDING_GUARD
from reports.cost.blocks import CASHFLOW, COST_BLOCKS
from reports.formulas.meta import Formula, ceil, floor, info
from reports.methods import METHODS
from reports.plan import growth, spares
from reports.plan.rows import COMPARED, COMPARED_RESULTS, RESULTS, TIMELINE
from reports.render.lint import formula_problems
from reports.render.translate import UntranslatableFormula, to_excel, to_latex, to_latex_numbers

needs_libreoffice = pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice recalculates the workbook")

# ---- small formulas for the traps; each is parsed from its source, so each stands here in full ----


def negated_square(a: Any) -> Any:
    return -(a**2)


def square_of_negative(a: Any) -> Any:
    return (-a) ** 2


def tower(a: Any, b: Any, c: Any) -> Any:
    return a**b**c


def tower_from_left(a: Any, b: Any, c: Any) -> Any:
    return (a**b) ** c


def minus_in_brackets(a: Any, b: Any, c: Any) -> Any:
    return a - (b - c) / (a / b)


def whole_below(a: Any, b: Any) -> Any:
    return floor(a / b)


def whole_above(a: Any, b: Any) -> Any:
    return ceil(a / b)


def flags_added(a: Any, b: Any, c: Any) -> Any:
    return (a > b) + 2 * (a >= c)


def nested_choice(a: Any, b: Any, c: Any) -> Any:
    return np.where(a > b, np.where(a > c, 2, 1), np.where(b == c, c, -b))


def least_of_four(a: Any, b: Any, c: Any) -> Any:
    return np.minimum(np.minimum(a, b), np.minimum(c, np.maximum(a, b)))


def roots(a: Any, b: Any) -> Any:
    return np.sqrt(a) * np.exp(-b) + np.log(a)


TRAPS: tuple[tuple[Formula, str], ...] = (
    (negated_square, "(-(a^2))"),
    (square_of_negative, "((-a)^2)"),
    (tower, "(a^(b^c))"),
    (tower_from_left, "((a^b)^c)"),
    (minus_in_brackets, "a-(b-c)/(a/b)"),
    (whole_below, "FLOOR(a/b*(1+1E-09),1)"),
    (whole_above, "CEILING(a/b*(1-1E-09),1)"),
    (flags_added, "IF(a>b,1,0)+2*IF(a>=c,1,0)"),
    (nested_choice, "IF(a>b,IF(a>c,2,1),IF(b=c,c,(-b)))"),
    (least_of_four, "MIN(a,b,c,MAX(a,b))"),
    (roots, "SQRT(a)*EXP((-b))+LN(a)"),
)


@pytest.mark.parametrize(("function", "text"), TRAPS, ids=lambda each: getattr(each, "__name__", ""))
def test_spreadsheet_text(function: Formula, text: str) -> None:
    assert to_excel(function, lambda name: name) == text


def test_guard_is_the_one_of_numpy() -> None:
    assert repr(ROUNDING_GUARD).upper() in to_excel(whole_below, str)
    assert floor(8 * 0.7 / 0.8) == 7


def refused(source: str) -> Formula:
    """A function whose source ``inspect`` finds, without a file of its own."""
    import linecache

    name = f"<formula {abs(hash(source))}>"
    text = textwrap.dedent(source)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"np": np, "floor": floor}
    exec(compile(text, name, "exec"), space)
    return next(value for key, value in space.items() if key.startswith("bad"))


@pytest.mark.parametrize(
    "body",
    [
        "return 3 * a",
        "return a if a > 1 else 2",
        "return np.abs(a)",
        "return a % 2",
        "return sum(a)",
        "return np.where(a, 1, 2)",
        "return 0 < a < 2",
        "return a[0]",
        "return UNKNOWN * a",
        "b = a\n    return b",
        "return True",
    ],
)
def test_anything_else_is_refused_by_name(body: str) -> None:
    with pytest.raises(UntranslatableFormula, match="bad_idea"):
        to_excel(refused(f"def bad_idea(a):\n    {body}\n"), str)


# ---- every formula of the product ----


def all_formulas() -> list[Formula]:
    blocks = [block for method in METHODS.values() for block in method.blocks()] + list(COST_BLOCKS)
    blocks += [spares.BLOCK, spares.PROOF, growth.BLOCK]
    found = [each for block in blocks for each in block.formulas]
    rows = (*CASHFLOW, *TIMELINE, *RESULTS, *COMPARED, *COMPARED_RESULTS)
    found += [row.formula for row in rows if row.formula is not None]
    return list(dict.fromkeys(found))


def place(function: Formula) -> str:
    return f"{function.__module__.split('.')[-1]}.{function.__name__}"


@pytest.mark.parametrize("function", all_formulas(), ids=place)
def test_formula_translates(function: Formula) -> None:
    excel = to_excel(function, lambda name: f"[{name}]")
    assert not list(formula_problems(excel))
    assert {name for name in info(function).inputs if f"[{name}]" in excel} == set(info(function).inputs)
    for latex in (to_latex(function, lambda name: "x_{1}"), to_latex_numbers(function, lambda name: "12.5")):
        assert latex.count("{") == latex.count("}")
        assert latex.count(r"\left") == latex.count(r"\right")


def test_latex_reads_like_a_textbook() -> None:
    symbols: Callable[[str], str] = {"a": "a", "b": "B_{max}+1", "c": "c"}.__getitem__
    assert to_latex(tower, symbols) == r"{a}^{{\left(B_{max}+1\right)}^{c}}"
    assert to_latex(minus_in_brackets, symbols) == r"a - \frac{B_{max}+1 - c}{\frac{a}{B_{max}+1}}".replace(
        r"\frac{B_{max}+1 - c}{\frac{a}{B_{max}+1}}", r"\frac{\left(B_{max}+1 - c\right) \, \left(B_{max}+1\right)}{a}"
    )
    assert to_latex(whole_above, symbols) == r"\left\lceil \frac{a}{B_{max}+1} \right\rceil"
    assert to_latex(least_of_four, symbols).startswith(r"\min\left(a, B_{max}+1, c, ")
    assert r"\begin{cases} 2 & a > c \\ 1 & a \le c \end{cases}" in to_latex(nested_choice, symbols)


def samples(name: str, random: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """Plausible values by the way a name ends: flags, whole counts, shares, quantities."""
    # LibreOffice calls a power that underflows an error, Excel says 0: keep bases and exponents moderate
    if name.endswith("exponent"):
        return random.uniform(0, 2, count)
    if name == "expert_missed_ratio":
        return random.uniform(0.9, 0.99, count)
    if name in ("experts", "experts_per_token"):
        return random.integers(*((32, 257) if name == "experts" else (1, 9)), count).astype(float)
    if name in ("month", "horizon_months"):
        return random.integers(0, 37, count).astype(float)
    if name.endswith(("units", "units_needed", "servers")):
        return random.integers(0, 12, count).astype(float)
    if name.endswith(("parallel", "layers", "experts", "cards", "replicas", "per_token", "_tokens", "heads")):
        return random.integers(0 if name.startswith(("moe", "sparse", "linear")) else 1, 129, count).astype(float)
    if name.startswith(("rocm", "multimodal", "tied", "latent_att", "fp8", "int4", "length_is", "link_is", "units_as")):
        return random.integers(0, 2, count).astype(float)
    if name.endswith(("share", "utilisation", "rate", "factor")):
        return random.uniform(0.01, 0.99, count)
    return random.uniform(0.5, 500, count)


@needs_libreoffice
def test_spreadsheet_computes_what_numpy_computes(tmp_path: Path) -> None:
    """All formulas, ten random rows each, in one recalculated workbook; the traps with negative numbers too."""
    count = 10
    book = Workbook()
    page: Any = book.active
    expected: dict[str, tuple[str, float]] = {}
    row = 0
    for function in [*all_formulas(), *(function for function, _ in TRAPS)]:
        random = np.random.default_rng([20261130, *function.__name__.encode()])
        names = list(function.__code__.co_varnames[: function.__code__.co_argcount])
        if hasattr(function, "info"):
            inputs = {name: samples(name, random, count) for name in names}
        else:
            inputs = {name: random.uniform(0.2, 3, count).round(1) for name in names}
        with np.errstate(all="ignore"):
            result = np.broadcast_to(np.asarray(function(**inputs), dtype=float), (count,))
        for sample in range(count):
            row += 1
            cells = {}
            for column, name in enumerate(names, 2):
                cell = page.cell(row, column, float(inputs[name][sample]))
                cells[name] = cell.coordinate
            page.cell(row, 1, "=" + to_excel(function, cells.__getitem__))
            if np.isfinite(result[sample]):
                expected[f"A{row}"] = (function.__name__, float(result[sample]))
    path = tmp_path / "formulas.xlsx"
    book.save(path)
    found = values(recalculate([path], tmp_path / "out")[0])
    wrong = [
        (name, place, value, found.get(("Sheet", place)))
        for place, (name, value) in expected.items()
        if not same(found.get(("Sheet", place)), value)
    ]
    assert not wrong
    assert len(expected) > 0.9 * row
