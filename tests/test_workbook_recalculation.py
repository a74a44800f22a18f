"""LibreOffice, made to recalculate, agrees with every stored value; edited inputs flow to the answer as in a run."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from recalculate import Values, differences, formulas, part, recalculate, values, with_part

from reports.catalog.records import Catalog
from reports.pipeline import evaluate
from reports.render import workbook
from reports.render.i18n import translator
from reports.run import Run
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario

pytestmark = pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice recalculates the workbook")

NAMES = (
    "capacity-proposal", "monthly-procurement", "eight-a100-7b", "qwen2-72b-pcie", "yuan", "chinese",
)  # fmt: skip
"""The scenarios of these names, the published example in another currency than its prices, the proposal in Chinese."""


@dataclasses.dataclass(frozen=True)
class Books:
    """Workbooks as written and as recalculated, and the runs they come from."""

    runs: dict[str, Run]
    written: dict[str, Path]
    recalculated: dict[str, Path]


def cell_part(path: Path, sheet: str) -> str:
    names = load_workbook(path, read_only=True).sheetnames
    return f"xl/worksheets/sheet{names.index(sheet) + 1}.xml"


def replace_value(path: Path, target: Path, sheet: str, cell: str, value: float) -> Path:
    """A copy in which one stored number differs; nothing else is touched."""
    name = cell_part(path, sheet)
    pattern = rf'(<c r="{cell}"[^>]*>(?:<f>[^<]*</f>)?<v>)[^<]*(</v>)'
    text, count = re.subn(pattern, rf"\g<1>{value!r}\g<2>", part(path, name))
    assert count == 1
    return with_part(path, target, name, text)


def input_cell(path: Path, label: str, key: str = "") -> str:
    for row in load_workbook(path)["Inputs"].iter_rows(max_col=3):
        if row[0].value == label and (not key or row[1].value == key):
            return str(row[2].coordinate)
    raise AssertionError(f"no input {label} {key}")


# ---- edits: what is typed into Inputs, and the same said in the scenario ----

Edit = tuple[str, str, float, Callable[[Scenario], Scenario]]


def assume(name: str, value: float) -> Callable[[Scenario], Scenario]:
    return lambda scenario: scenario.model_copy(update={"assumptions": {**scenario.assumptions, name: value}})


def arrivals(value: float) -> Callable[[Scenario], Scenario]:
    def edited(scenario: Scenario) -> Scenario:
        demand = scenario.workload.demand.model_copy(update={"requests_per_s": value})
        return scenario.model_copy(update={"workload": scenario.workload.model_copy(update={"demand": demand})})

    return edited


EDITS: tuple[Edit, ...] = (
    ("safety", "Safety factor: share of the limit that is recommended", 0.6, assume("safety_factor", 0.6)),
    ("discount", "Discount rate per year", 0.11, assume("annual_discount_rate", 0.11)),
    ("power", "Electricity", 1.5, assume("electricity_price_per_kwh", 1.5)),
    ("demand", "Demand, arrivals", 29.0, arrivals(29.0)),
    ("pue", "Power usage effectiveness (PUE)", 1.6, assume("pue", 1.6)),
    ("residual", "Value left at the end of the horizon", 0.1, assume("residual_share_36_months", 0.1)),
    ("utilisation", "Average load as a share of the peak", 0.3, assume("average_utilisation", 0.3)),
    ("spares", "Losses of a card to survive, in units", 2.0, assume("spare_policy_units", 2.0)),
)


HOST, SMALLER = "dgx-h100", 4.0
"""The winner's server, sold with half its cards."""
GROWTH, RATE = 0.03, 8.0


def smaller_servers(catalog: Catalog) -> Catalog:
    host = catalog.hosts[HOST]
    cards = dataclasses.replace(host.facts["server_cards"], value=SMALLER)
    changed = dataclasses.replace(host, facts={**host.facts, "server_cards": cards})
    return dataclasses.replace(catalog, hosts={**catalog.hosts, HOST: changed})


@pytest.fixture(scope="module")
def books(catalog: Catalog, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Books:
    """All workbooks, the edited copies and one with a planted error, recalculated in one call."""
    folder = tmp_path_factory.mktemp("books")
    runs, written = {}, {}
    for name in NAMES[:-1]:
        path = repository / "scenarios" / f"{'eight-a100-7b' if name == 'yuan' else name}.yaml"
        sets = ("currency=CNY",) if name == "yuan" else ()
        runs[name] = evaluate(read_scenario(path, catalog, sets=sets), catalog)
        written[name] = folder / f"{name}.xlsx"
        workbook.write(runs[name], written[name])
    proposal = runs["capacity-proposal"]
    chinese = proposal.scenario.model_copy(update={"languages": ("zh",)})
    runs["chinese"], written["chinese"] = dataclasses.replace(proposal, scenario=chinese), folder / "chinese.xlsx"
    workbook.write(runs["chinese"], written["chinese"])
    base = written["capacity-proposal"]
    for name, label, value, _ in EDITS:
        written[name] = replace_value(base, folder / f"{name}.xlsx", "Inputs", input_cell(base, label), value)
    row = run_price_row(runs["capacity-proposal"])
    price = input_cell(base, "Rent, cheapest eligible offer", row["offer_id"])
    dear = row["rent_offer_price_per_card_hour"] * 100
    written["price"] = replace_value(base, folder / "price.xlsx", "Inputs", price, dear)
    server = input_cell(base, "Server price", row["purchase_id"])
    written["server"] = replace_value(base, folder / "server.xlsx", "Inputs", server, row["server_price"] * 1.25)
    size = input_cell(base, "Cards of one server", HOST)
    written["size"] = replace_value(base, folder / "size.xlsx", "Inputs", size, SMALLER)
    growth = input_cell(base, "Growth of the demand a month")
    written["growth"] = replace_value(base, folder / "growth.xlsx", "Inputs", growth, GROWTH)
    rate = input_cell(written["yuan"], "Exchange rate", "USD/CNY")
    written["exchange"] = replace_value(written["yuan"], folder / "exchange.xlsx", "Inputs", rate, RATE)
    target = input_cell(base, "Target, time per output token")
    written["target"] = replace_value(base, folder / "target.xlsx", "Inputs", target, 20.0)
    stored = values(base)
    planted = next(cell for sheet, cell in formulas(base)
                   if sheet == "Calculation" and isinstance(stored[sheet, cell], float))  # fmt: skip
    written["planted"] = replace_value(base, folder / "planted.xlsx", "Calculation", planted, 999_999.0)
    paths = recalculate(list(written.values()), folder / "recalculated", timeout_s=300)
    return Books(runs, written, dict(zip(written, paths, strict=True)))


def run_price_row(run: Run) -> dict[str, Any]:
    """The option that the proposal rents or would rent: the winner's."""
    return run.winners().iloc[0].to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_every_formula_cell_agrees(books: Books, name: str) -> None:
    assert len(formulas(books.written[name])) > 1000
    assert list(differences(books.written[name], books.recalculated[name])) == []


def test_a_planted_value_is_found(books: Books) -> None:
    found = list(differences(books.written["planted"], books.recalculated["planted"]))
    assert [each.cached for each in found] == [999_999.0]


@pytest.mark.parametrize("name", NAMES)
def test_no_error_cells_and_all_checks_hold(books: Books, name: str) -> None:
    shown = values(books.recalculated[name])
    _ = translator(books.runs[name].scenario.languages[0])
    assert not [place for place, value in shown.items() if isinstance(value, str) and value.startswith("#")]
    assert not [place for place, value in shown.items() if value == _("FAILS")]
    assert [value for (sheet, _cell), value in shown.items() if sheet == _("Checks") and value == _("holds")]


def test_an_input_that_needs_a_new_run_turns_its_check_red(books: Books) -> None:
    """The search and the simulation cannot follow an edited target: the check, the input and the Summary say so."""
    before, after = values(books.recalculated["capacity-proposal"]), values(books.recalculated["target"])
    assert "CHANGED: run again" not in before.values()
    cell = input_cell(books.written["target"], "Target, time per output token")
    assert after["Inputs", f"K{cell[1:]}"] == "CHANGED: run again"
    assert list(after.values()).count("CHANGED: run again") == 1
    failed = [place[1] for place, value in after.items() if place[0] == "Checks" and value == "FAILS"]
    words = [after["Checks", f"A{each[1:]}"] for each in failed]
    assert "Inputs that need a new run are as evaluated" in words
    said = [str(value) for (sheet, _), value in after.items() if sheet == "Summary"]
    assert any("this answer is not for them" in each for each in said)
    assert "CHECKS FAIL" in said


def column_of(shown: Values, run: Run, option: dict[str, Any]) -> str:
    """The Calculation column of an option, by its four heads."""
    catalog = run.catalog
    link = {"nvlink": "NVLink", "pcie": "PCIe"}[str(option["interconnect"])]
    wanted = [
        catalog.models[str(option["model"])].name, catalog.gpus[str(option["gpu"])].name, str(option["quantization"]),
        link,
    ]  # fmt: skip
    letters = {re.sub(r"\d", "", cell) for sheet, cell in shown if sheet == "Calculation"}
    for letter in letters:
        if [shown.get(("Calculation", f"{letter}{row}")) for row in range(5, 9)] == wanted:
            return letter
    raise AssertionError(f"no column for {wanted}")


def figure(shown: Values, letter: str, label: str) -> Any:
    rows = [cell[1:] for (sheet, cell), value in shown.items()
            if sheet == "Calculation" and cell.startswith("A") and value == label]  # fmt: skip
    found = [shown["Calculation", letter + row] for row in rows if ("Calculation", letter + row) in shown]
    assert len(found) == 1, label
    return found[0]


FIGURES = {
    "Recommended concurrency": "recommended_concurrency",
    "Deployment units": "units_needed",
    "Cards for the demand": "demand_cards",
    "Rent per month": "rent_amount_per_month",
    "Running cost per month": "running_amount_per_month",
    "Present cost of owning": "buy_present_cost_amount",
    "Owning, equivalent cost per month": "buy_equivalent_amount_per_month",
    "Owning, per million output tokens": "buy_amount_per_mtok",
}


@pytest.mark.parametrize("name", [*(edit[0] for edit in EDITS), "server", "size", "exchange"])
def test_an_edited_input_flows_as_in_a_new_run(books: Books, catalog: Catalog, name: str) -> None:
    """An edit typed into Inputs and the same said to the program: options of the same layout have equal figures."""
    base = "yuan" if name == "exchange" else "capacity-proposal"
    run = books.runs[base]
    if name == "exchange":
        rates = catalog.exchange.copy()
        rates.loc[(rates["base"] == "USD") & (rates["quote"] == "CNY"), "rate"] = RATE
        edited = evaluate(run.scenario, dataclasses.replace(catalog, exchange=rates))
    elif name == "size":
        edited = evaluate(run.scenario, smaller_servers(catalog))
    elif name == "server":
        purchase = catalog.purchase.copy()
        bought = purchase["purchase_id"] == run_price_row(run)["purchase_id"]
        prices = ["price_low", "price", "price_high"]
        purchase.loc[bought, prices] = purchase.loc[bought, prices] * 1.25
        edited = evaluate(run.scenario, dataclasses.replace(catalog, purchase=purchase))
    else:
        edited = evaluate(next(edit[3] for edit in EDITS if edit[0] == name)(run.scenario), catalog)
    after = edited.options.set_index("option_id")
    shown, before = values(books.recalculated[name]), values(books.written[base])
    compared = changed = 0
    for option in run.shortlist.to_dict("records"):
        new = after.loc[option["option_id"]]
        same_choice = all(new[key] == option[key] for key in ("candidate_id", "tensor_parallel", "pipeline_parallel",
                          "replicas", "offer_id", "purchase_id", "simulated_requests") if key in option)  # fmt: skip
        if not same_choice:
            continue  # the search or the simulation found something else: that needs a new run, as the sheet says
        letter = column_of(shown, run, option)
        for label, column in FIGURES.items():
            value = figure(shown, letter, label)
            if new[column] == new[column]:
                assert value == pytest.approx(new[column], rel=1e-9), (label, option["option_id"])
                compared += 1
                changed += value != figure(before, letter, label)
    assert compared > 10
    assert changed > 0
    assert not [place for place, value in shown.items() if value == "FAILS"]


def test_edited_growth_flows_as_in_a_new_run(books: Books, catalog: Catalog, repository: Path) -> None:
    """Demand, cards and orders of every month, from the rate typed into Inputs."""
    stated = f"workload.demand.growth.rate_per_month={GROWTH}"
    scenario = read_scenario(repository / "scenarios" / "capacity-proposal.yaml", catalog, sets=(stated,))
    grown = evaluate(scenario, catalog).growth.iloc[: len(books.runs["capacity-proposal"].growth)]
    shown = values(books.recalculated["growth"])
    for label, column in (("Concurrency to serve", "month_demand_concurrency"), ("Cards with spares", "month_cards")):
        row = next(cell[1:] for (sheet, cell), value in shown.items() if sheet == "Growth" and value == label)
        cells = sorted((len(cell), cell) for sheet, cell in shown
                       if sheet == "Growth" and re.fullmatch(rf"[A-Z]+{row}", cell))  # fmt: skip
        found = [shown["Growth", cell] for _, cell in cells if isinstance(shown["Growth", cell], int | float)]
        assert found == pytest.approx(grown[column].to_list(), rel=1e-9), label
        assert found[-1] > found[0]


def test_a_dearer_rent_turns_the_answer(books: Books) -> None:
    """A hundred times the rent of the winner: the Summary changes, and the checks still hold."""
    before, after = (values(books.recalculated[name]) for name in ("capacity-proposal", "price"))
    answers = [
        {cell: value for (sheet, cell), value in shown.items() if sheet == "Summary" and cell.startswith("A")}
        for shown in (before, after)
    ]
    assert answers[0] != answers[1]
    assert not [place for place, value in after.items() if value == "FAILS"]
