"""The files of one report folder: workbook, PDFs, results, cost lines, manifest; all of them or none."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.synchronize import Event
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd

from reports.history import store
from reports.manifest import write_manifest
from reports.run import Run
from reports.writing import replace_folder


def write_outputs(
    run: Run, folder: Path, progress: Callable[[str], None], scenario_folder: Path | None = None
) -> list[Path]:
    """Write every file of a run into ``folder``; an interruption leaves what stood there before.

    With ``scenario_folder`` (where its traces are) the run keeps its inputs, so that it can be compared later.
    """
    from reports.render import workbook

    with replace_folder(folder) as draft, _documents(run, draft) as documents:
        progress("results")
        results_frame(run).to_parquet(draft / "results.parquet", index=False)
        run.cost_lines.to_csv(draft / "cost_lines.csv", index=False, lineterminator="\n")
        (draft / "summary.json").write_text(
            json.dumps(summary(run), ensure_ascii=False, indent=2, sort_keys=False) + "\n", encoding="utf-8"
        )
        if scenario_folder is not None:
            store.write(run.scenario, run.catalog, scenario_folder, draft / store.NAME)
        progress("workbook")
        workbook.write(run, draft / "workbook.xlsx")
        documents.attachments_stand()
        for name, finish in documents.calls.items():
            progress(name)
            finish()
        write_manifest(run, draft)
    return sorted(folder.iterdir())


@dataclass(frozen=True)
class _Documents:
    """The documents of a run while they are made."""

    calls: dict[str, Callable[[], object]]
    """File name -> a call that returns when it is written."""
    attachments_stand: Callable[[], None] = lambda: None
    """To be called when the files that travel inside the documents are written: workers wait for it."""


@contextmanager
def _documents(run: Run, folder: Path) -> Iterator[_Documents]:
    """The documents of a run, laid out by workers, side by side, while this process writes the workbook.

    The bytes are those that this process would write. Where no worker can start, and on one core, the call itself
    writes the document.
    """
    named = {f"{kind}.{language}.pdf": (kind, language)
             for kind in run.scenario.reports for language in run.scenario.languages}  # fmt: skip
    here = {name: partial(_write_document, run, kind, language, folder / name)
            for name, (kind, language) in named.items()}  # fmt: skip
    workers = min(_cores(), len(named))
    if workers < 2:
        yield _Documents(dict(here))
        return
    before = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")
    stand = spawn.Event()
    pool = ProcessPoolExecutor(workers, spawn, initializer=_begin_worker, initargs=(stand,))
    try:
        futures = {name: pool.submit(task) for name, task in here.items()}
        yield _Documents({name: partial(_finish, future, here[name]) for name, future in futures.items()}, stand.set)
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _finish(future: Future[None], otherwise: Callable[[], None]) -> None:
    try:
        future.result()
    except BrokenProcessPool:
        otherwise()


def _write_document(run: Run, kind: str, language: str, path: Path) -> None:
    from reports.render import pdf

    pdf.write(run, kind, language, path, attached=partial(_attached, path.parent))


ATTACHED = ("workbook.xlsx", "summary.json", "cost_lines.csv", store.NAME)
"""What travels inside every document, the most useful first."""

ATTACHED_LIMIT_BYTES = 5_000_000
"""Mail systems refuse much more than this; what does not fit stays beside the document."""


def _attached(folder: Path) -> list[Path]:
    """The files of ``ATTACHED`` that fit into the limit, as soon as they are written."""
    if _attachments_stand is not None:
        _attachments_stand.wait()
    files, total = [], 0
    for name in ATTACHED:
        size = (folder / name).stat().st_size if (folder / name).is_file() else ATTACHED_LIMIT_BYTES + 1
        if total + size <= ATTACHED_LIMIT_BYTES:
            files.append(folder / name)
            total += size
    return files


_attachments_stand: Event | None = None
"""In a worker, the event that says so; elsewhere the files are there when they are asked for."""


def _begin_worker(stand: Event) -> None:
    global _attachments_stand
    _attachments_stand = stand
    _end_with_parent()


def _end_with_parent() -> None:
    """In a worker: leave interruptions to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


def _cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


FIRST_COLUMNS = (
    "candidate_id", "method", "model", "quantization", "gpu", "count", "interconnect", "feasible",
    "binding_constraint", "memory_concurrency", "recommended_concurrency", "output_tokens_per_s", "tpot_ms", "ttft_ms",
    "cards_needed", "excuse", "service",
)  # fmt: skip


def results_frame(run: Run) -> pd.DataFrame:
    """Candidates for other tools: the headline columns first, the excuse as a sentence, then every other column."""
    from reports.constraints import sentence

    frame = run.candidates.copy()
    reasons = run.excuses[run.excuses["option_id"] == ""]
    sentences = {
        (method, candidate): sentence(code, numbers)
        for method, candidate, code, numbers in zip(
            reasons["method"], reasons["candidate_id"], reasons["code"], reasons["values"], strict=True
        )
    }
    keys = zip(frame["method"], frame["candidate_id"], strict=True)
    frame["excuse"] = [sentences.get(key, "") for key in keys]
    for name in frame.columns[frame.dtypes == "category"]:
        frame[name] = frame[name].astype(str)
    rest = [name for name in frame.columns if name not in FIRST_COLUMNS]
    return frame[[name for name in FIRST_COLUMNS if name in frame] + rest]


PER_UNIT = (
    "all_amount_per_mtok", "amount_per_seat_month", "amount_per_card_month", "energy_kwh_per_mtok",
    "emissions_kg_per_mtok", "emissions_kg_per_month",
)  # fmt: skip
"""What an option costs, draws and emits for each thing it delivers, rented (``rent_``) and owned (``buy_``)."""

HEADLINES = (
    "option_id", "candidate_id", "service", "model", "quantization", "gpu", "interconnect", "rank", "winner", "way",
    "binding_constraint", "cards_needed", "servers_needed", "unit_cards", "replicas", "tensor_parallel",
    "pipeline_parallel", "recommended_concurrency", "tpot_ms", "ttft_ms", "output_tokens_per_s",
    "monthly_cost_amount", "rent_equivalent_amount_per_month", "buy_equivalent_amount_per_month",
    "capex_amount", "rent_npv_amount", "buy_npv_amount", "rent_amount_per_mtok", "buy_amount_per_mtok",
    *(f"{way}_{name}" for name in PER_UNIT for way in ("rent", "buy")), "rent_energy_kwh_per_month",
    "energy_kwh_per_month",
    "break_even_month", "rent_provider", "rent_term", "offer_id", "purchase_id", "rented_cards", "bought_cards",
    "demand_concurrency", "demand_requests_per_s",
)  # fmt: skip


def summary(run: Run) -> dict[str, Any]:
    """The recommendation and each short-listed option's headline figures, as plain data."""
    rows = run.shortlist
    names = [name for name in HEADLINES if name in rows]
    answered = set(rows.loc[rows["winner"], "service"].astype(str))
    unanswered = sorted({each.name for each in run.scenario.service_axis} - answered)
    return {
        "scenario": run.scenario.name,
        "title": dict(run.scenario.title),
        "period": run.scenario.period,
        "as_of": run.scenario.as_of.isoformat(),
        "currency": run.scenario.currency,
        "method": run.method.name,
        "annual_discount_rate": _plain(float(rows["annual_discount_rate"].iloc[0])) if len(rows) else None,
        "recommendation": [
            {name: _plain(row[name]) for name in names} for row in rows[rows["winner"]].to_dict("records")
        ],
        "options": _plans(run),
        "short_list": [{name: _plain(row[name]) for name in names} for row in rows.to_dict("records")],
        "purchase": _purchase(run),
        "services_without_an_answer": unanswered,
        "models_without_an_answer": sorted(
            {each.model for each in run.scenario.service_axis if each.name in unanswered}
        ),
        "warnings": [message.format(**values) for message, values in run.warnings],
        "variance": {
            "causes": [{str(name): _plain(value) for name, value in row.items()}
                       for row in run.variance.to_dict("records")],
            **dict(zip(run.variance_about["key"], map(_plain, run.variance_about["value"]), strict=True)),
        } if len(run.variance_about) else None,
        "fleet": dict(zip(run.fleet_summary["key"], map(_plain, run.fleet_summary["value"]), strict=True)),
    }


BREAK_EVENS = (
    "break_even_month", "payback_month", "incremental_irr_rate", "break_even_hours_per_day",
    "break_even_price_per_card_hour", "break_even_residual_share",
)  # fmt: skip


def _plans(run: Run) -> list[dict[str, Any]]:
    """Each plan that ``cost_lines.csv`` holds: the sum of its cash lines, discounted, is its ``npv``.

    ``chosen``: what the recommendation takes. ``cheapest``: the least of all ways of a service over its short list,
    which may be one that stands beside the ranking. ``served_share``: what a way serves of the load; one that serves
    less than all is never the cheapest. Break-evens are of buying against renting, on both of them.
    """
    if run.ways.empty:
        return []
    winners = run.winners().set_index("service")
    known = run.shortlist.set_index("option_id")
    plans = []
    for way in run.ways.to_dict("records"):
        service, compared = str(way["service"]), way["way"] in ("rent", "buy")
        row = known.loc[way["option_id"]] if way["option_id"] else winners.loc[service]
        if not (compared or row["winner"] or way["best"]):
            continue
        plans.append(
            {
                "candidate_id": str(row["candidate_id"]),
                "option": way["way"],
                "service": service,
                "npv": _plain(way["npv_amount"]),
                "equivalent_monthly_cost": _plain(way["equivalent_amount_per_month"]),
                "currency": run.scenario.currency,
                "chosen": bool(row["winner"]) and way["way"] == row["way"],
                "cheapest": bool(way["best"]),
                "served_share": _plain(way["served_share"]),
                **({name: _plain(row[name]) for name in BREAK_EVENS if name in row} if compared else {}),
            }
        )
    return plans


def _purchase(run: Run) -> dict[str, Any]:
    """The recommended purchase: its bill, the cash plan, what fits the budget; and the quotes of every winner."""
    bill = run.bill[run.bill["recommended"].astype(bool)].drop(columns="recommended") if len(run.bill) else run.bill
    frames = {"bill": bill, "cash_plan": run.cash_plan, "budget": run.budget_fits, "quotes": run.quotes}
    return {
        name: [{str(key): _plain(value) for key, value in row.items()} for row in frame.to_dict("records")]
        for name, frame in frames.items()
    }


def _plain(value: Any) -> Any:
    """A value that JSON has: NaN becomes null, NumPy scalars become Python's."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
