"""Latency under load: what the simulation says of each short-listed option, beside the closed form."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.render import latency_chart, view_winners
from reports.render.view_summary import rows
from reports.render.wording import Wording, finite
from reports.simulate.check import BEFORE

Row = dict[str, Any]


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


LATENCIES = {"ttft_ms": N_("TTFT"), "tpot_ms": N_("TPOT"), "answer_ms": N_("Whole answer")}
STATISTICS = {"mean": N_("mean"), "p50": "P50", "p95": "P95", "p99": "P99"}
ORDER = ("mean", "p50", "p95", "p99")


def section(words: Wording, winners: list[Row]) -> dict[str, Any]:
    """What the section reads; without a simulation only why there is none."""
    simulated = words.run.simulated
    if simulated.empty:
        return {"lead": words.translate("Nothing was simulated: this method has no steps, or no option is feasible."),
                "winners": [], "others": [], "lowered": []}  # fmt: skip
    by_option = {str(name): rows(part) for name, part in simulated.groupby("option_id", sort=False)}
    names = [str(row["option_id"]) for row in winners]
    rest = [row for row in rows(words.run.shortlist) if str(row["option_id"]) not in names]
    return {
        "lead": _lead(words, by_option),
        "lowered": _lowered(words, by_option),
        "winners": [_winner(words, row, by_option[str(row["option_id"])]) for row in winners],
        "others": [line for row in rest for line in _targets(words, row, by_option[str(row["option_id"])])],
    }


def _lead(words: Wording, by_option: dict[str, list[Row]]) -> str:
    simulated = [lines for lines in by_option.values() if any(line["metric"] == "repeats" for line in lines)]
    repeats = [_given(lines, "repeats") for lines in simulated]
    measured = [_given(lines, "measured_requests") for lines in simulated]
    _ = words.translate
    return words.joined(
        _("Every short-listed option was simulated request by request at its recommended load: arrivals at random, "
          "prompts computed in chunks beside the running answers, memory in pages."),
        _("{repeats} independent runs of {requests} requests each; what arrives in the first three request times is "
          "cut. Beside a figure its 95 % interval: a target is missed when all of the interval lies beyond it, and "
          "then the simulation decides; undecided when the interval contains it.",
          repeats=_span(words, repeats), requests=_span(words, measured)),
    )  # fmt: skip


def _span(words: Wording, values: list[float]) -> str:
    low, high = min(values), max(values)
    return words.count(low) if low == high else f"{words.count(low)}–{words.count(high)}"


def _lowered(words: Wording, by_option: dict[str, list[Row]]) -> list[str]:
    """One sentence an option that the simulation allows less than the closed form."""
    found = []
    options = {str(row["option_id"]): row for row in rows(words.run.options)}
    for option, lines in by_option.items():
        missed = [line for line in lines if str(line["statistic"]).endswith(BEFORE)]
        if missed and option in options:
            load = _line(lines, "load_requests", "given")
            line = missed[0]
            found.append(
                words.translate(
                    "{option}: {after} requests in a replica instead of {before}, where {metric} ({statistic}) is "
                    "{simulated} ms and not {target} ms.",
                    option=view_winners.option_name(words, options[option]),
                    before=words.count(load["closed_form"]),
                    after=words.count(load["simulated"]),
                    metric=words.translate(LATENCIES[line["metric"]]),
                    statistic=words.translate(STATISTICS[str(line["statistic"]).removesuffix(BEFORE)]),
                    simulated=words.short(line["simulated"]),
                    target=words.short(line["target"], 4),
                )
            )
    return found


def _winner(words: Wording, row: Row, lines: list[Row]) -> dict[str, Any]:
    """Charts, table and figures of one winner."""
    _ = words.translate
    curves = words.run.latency_curves
    own = curves[curves["option_id"] == row["option_id"]]
    return {
        "title": view_winners.option_name(words, row),
        "charts": [_chart(words, own, lines, metric) for metric in ("ttft_ms", "tpot_ms")] if len(own) > 1 else [],
        "rows": [_latency(words, lines, metric) for metric in LATENCIES],
        "figures": _(
            "At {load} requests in a replica ({rate} arriving a second): {running} running and {queue} waiting on "
            "average, {preemptions} of requests preempted, computing {busy} of the time, memory {memory} used; "
            "{goodput} requests a second keep every target.",
            load=words.count(_given(lines, "load_requests")),
            rate=words.short(_given(lines, "arrivals_per_s")),
            running=words.short(_mean(lines, "running_requests")),
            queue=words.short(_mean(lines, "queue_requests"), 2),
            preemptions=words.percent(_mean(lines, "preemptions"), 1),
            busy=words.percent(_mean(lines, "utilisation")),
            memory=words.percent(_mean(lines, "memory_share")),
            goodput=words.short(_mean(lines, "goodput_requests_per_s")),
        ),
        "cut": _cut(words, lines),
    }


def _cut(words: Wording, lines: list[Row]) -> str:
    share = _given(lines, "cut_share")
    if share <= 0:
        return ""
    return words.translate(
        "{share} of the requests drawn are longer than the model's context or the memory, and were cut to it.",
        share=words.percent(share, 2),
    )


def _latency(words: Wording, lines: list[Row], metric: str) -> dict[str, str]:
    """One row: the statistics, and the one that the target is for beside the closed form."""
    return {
        "name": words.translate(LATENCIES[metric]),
        "statistics": [words.short(_line(lines, metric, each)["simulated"]) for each in ORDER],
        **_aim(words, lines, metric),
    }


def _aim(words: Wording, lines: list[Row], metric: str) -> dict[str, Any]:
    line = _aimed(lines, metric)
    statistic = words.translate(STATISTICS[line["statistic"]])
    target = finite(line["target"])
    closed = finite(line["closed_form"])
    return {
        "target": words.translate(
            "{statistic} {ms}", statistic=statistic, ms=words.short(target, 4)
        ) if target is not None else words.translate("none"),
        "closed": words.short(closed) if closed is not None else "–",
        "simulated": words.short(line["simulated"]),
        "interval": f"{words.short(line['low'])}–{words.short(line['high'])}",
        "missed": bool(target is not None and not line["holds"]),
        "holds": "–" if target is None else words.translate(verdict(line)),
    }  # fmt: skip


def verdict(line: Row) -> str:
    """Whether a target is kept: missed when all of the interval lies beyond it, undecided when it contains it."""
    if line["low"] > line["target"]:
        return N_("missed")
    return N_("met") if line["high"] <= line["target"] else N_("undecided")


def _targets(words: Wording, row: Row, lines: list[Row]) -> list[dict[str, Any]]:
    """The lines of an option that did not win: its load and each target."""
    aimed = [metric for metric in LATENCIES if finite(_aimed(lines, metric)["target"]) is not None]
    return [
        {
            "option": view_winners.option_name(words, row) if index == 0 else "",
            "load": words.count(_given(lines, "load_requests")) if index == 0 else "",
            "name": words.translate(LATENCIES[metric]),
            **_aim(words, lines, metric),
        }
        for index, metric in enumerate(aimed)
    ]


def _chart(words: Wording, own: pd.DataFrame, lines: list[Row], metric: str) -> dict[str, Any]:
    """One latency against the load, with its target and the recommended load."""
    _ = words.translate
    aimed = _aimed(lines, metric)
    target, statistic = finite(aimed["target"]), str(aimed["statistic"])
    points = own[own["metric"] == metric]
    loads = sorted(points["load_requests"].unique())
    shown = [each for each in ("p50", "p95", "p99") if not (each == "p50" and statistic == "mean")]
    shown = [statistic, *shown] if statistic == "mean" else shown
    curves = []
    for each in shown:
        values = points[points["statistic"] == each].sort_values("load_requests")["simulated"].tolist()
        kind = "aim" if each == statistic else "more" if ORDER.index(each) > ORDER.index(statistic) else "less"
        curves.append(latency_chart.Curve(kind, _(STATISTICS[each]), values))
    name = _(LATENCIES[metric])
    said = {"name": name, "statistic": _(STATISTICS[statistic]), "simulated": words.short(aimed["simulated"])}
    if target is None:
        title = _("{name} {statistic} at the recommended load: {simulated} ms", **said)
    else:
        title = _(
            "{name} {statistic} at the recommended load: {simulated} of {target} ms",
            **said, target=words.short(target, 4),
        )  # fmt: skip
    picture = latency_chart.latency(
        title,
        loads,
        curves,
        unit=_("{name}, ms", name=name),
        load_label=_("requests in a replica"),
        number=lambda value: words.short(value, 4),
        load_number=lambda value: words.short(value, 3),
        target=target,
        target_label=_("target {statistic}", statistic=_(STATISTICS[statistic])),
        recommended=_given(lines, "load_requests"),
        recommended_label=_("recommended"),
    )
    return {"title": title, "picture": picture}


def _aimed(lines: list[Row], metric: str) -> Row:
    """The line that a target is for; the mean where none is stated."""
    with_target = [
        line
        for line in lines
        if line["metric"] == metric and finite(line["target"]) is not None and line["statistic"] in ORDER
    ]
    return with_target[0] if with_target else _line(lines, metric, "mean")


def _line(lines: list[Row], metric: str, statistic: str) -> Row:
    return next(line for line in lines if line["metric"] == metric and line["statistic"] == statistic)


def _mean(lines: list[Row], metric: str) -> float:
    return float(_line(lines, metric, "mean")["simulated"])


def _given(lines: list[Row], metric: str) -> float:
    return float(_line(lines, metric, "given")["simulated"])
