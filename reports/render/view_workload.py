"""The workload in words: how long requests are, where that is from, how many there are at the peak, and the week."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.given import stated_assumptions
from reports.loads import RATE, UTILISATION
from reports.plan.outlook import months_ahead
from reports.render.load_chart import Week, week
from reports.render.sheets.demand import DAYS, QUANTITIES
from reports.render.wording import Wording, finite
from reports.scenario.demand import GrowthCurve, curve_of
from reports.scenario.services import Service
from reports.scenario.traces import Trace
from reports.scenario.workload import Profile, Workload

Row = dict[str, Any]

LENGTHS = ("input_tokens", "output_tokens", "resident_tokens")
MOST_WEEKS = 3
"""Profiles drawn; the workbook has all."""
MOST_ROWS = 24
"""Rows of a table; the workbook has all."""


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


def lengths(words: Wording) -> list[dict[str, str]]:
    """Prompts, answers and what a running request holds, with their spread; one block a workload."""
    found = []
    workloads = {each.workload_key: each.workload for each in words.run.scenario.service_axis}
    keys = list(dict.fromkeys(words.run.workloads["workload_key"].astype(str)))
    for row in words.run.workloads.to_dict("records"):
        quantity, key = str(row["quantity"]), str(row["workload_key"])
        if quantity in LENGTHS and keys.index(key) < MOST_ROWS // len(LENGTHS):
            found.append(
                {
                    "of": workload_name(words, key) if quantity == LENGTHS[0] and len(keys) > 1 else "",
                    "name": words.translate(QUANTITIES[quantity][0]),
                    "source": _source(words, row, workloads[key]),
                    **{name: words.number(row[name], "tokens")
                       for name in ("mean", "p50", "p95", "p99", "deviation")},
                }
            )  # fmt: skip
    return found


def workload_name(words: Wording, key: str) -> str:
    """A workload by the service it is of, or as what all the others share."""
    many = words.run.workloads["workload_key"].nunique() > 1
    return key or words.translate("the others" if many else "all services")


def _source(words: Wording, row: Row, workload: Workload) -> str:
    source, basis = str(row["source"]), words.translate(str(row["basis"]))
    mix = words.run.catalog.lengths.get(workload.lengths or "")
    if mix is not None and source == mix.facts["input_mean_tokens"].source:
        source = words.translate.known(mix.name)
    colon = "：" if words.language == "zh" else ": "
    return basis if source == "scenario" else f"{basis}{colon}{source}"


def more(words: Wording) -> list[str]:
    """Sentences on arrivals, prefixes and traces; what is the default is not said."""
    _ = words.translate
    found, traces = [], dict[str, Trace]()
    for key, service in {each.workload_key: each for each in words.run.scenario.service_axis}.items():
        workload, name = service.workload, workload_name(words, key)
        if workload.traced is not None:
            traces[workload.traced.file] = workload.traced
        if workload.interarrival_scv != 1:
            found.append(_("{name}: the time between arrivals has a squared coefficient of variation of {scv} (1: at "
                           "random).", name=name, scv=words.short(workload.interarrival_scv)))  # fmt: skip
        if workload.prefix_hit_share:
            found.append(_("{name}: {share} of the prompt tokens are taken from the prefix cache.", name=name,
                           share=words.percent(workload.prefix_hit_share)))  # fmt: skip
        if workload.closed_loop:
            found.append(_("{name}: a fixed number of requests is kept in flight.", name=name))
    return [*found, *(_traced(words, trace) for trace in traces.values())]


def _traced(words: Wording, trace: Trace) -> str:
    _ = words.translate
    text = _("{file}: {rows} requests", file=trace.file, rows=words.count(trace.rows))
    if trace.duration_s is not None:
        hours = words.with_unit(trace.duration_s / 3600, "h", digits=3)
        text = _("{file}: {rows} requests in {hours}", file=trace.file, rows=words.count(trace.rows), hours=hours)
    return _("{text}; SHA-256 {digest}.", text=text, digest=trace.digest[:16])


def demands(words: Wording) -> list[dict[str, str]]:
    """What each service is asked for: as stated, at the peak, on average over the week, and how it grows."""
    services = words.run.scenario.service_axis
    return [_demand(words, each) for each in services[:MOST_ROWS]]


def left_out(words: Wording) -> int:
    """Services that the tables do not show."""
    return max(len(words.run.scenario.service_axis) - MOST_ROWS, 0)


def _demand(words: Wording, service: Service) -> dict[str, str]:
    _, facts = words.translate, words.run.facts
    own = facts[(facts["scope"] == "demand") & (facts["key"] == service.name)].set_index("column")["value"]
    concurrent, rate = float(own["demand_peak_concurrency"]), float(own[RATE])
    peak = words.with_unit(concurrent, "requests") if concurrent else words.with_unit(rate, "requests/s", digits=3)
    run = service.demand.run
    if run is not None:
        peak = _("all within {hours}", hours=words.with_unit(run.hours, "h", digits=3))
    used = facts[(facts["column"] == UTILISATION) & (facts["key"].astype(str) == service.workload_key)]
    return {
        "service": words.service(service.name),
        "stated": _stated(words, service),
        "peak": peak,
        "mean": words.percent(used["value"].iloc[0]) if len(used) else "",
        "growth": _growth(words, curve_of(service.demand)),
    }


def _stated(words: Wording, service: Service) -> str:
    _ = words.translate
    users, tokens = service.demand.users, service.demand.tokens_per_month
    if users is not None:
        return _("{count} users, {share} of them active in the busiest hour, {requests} requests an hour each",
                 count=words.count(users.count), share=words.percent(users.active_share),
                 requests=words.short(users.requests_per_hour))  # fmt: skip
    if tokens is not None:
        parts = []
        if tokens.input is not None:
            parts.append(_("{count} million prompt tokens a month", count=words.short(tokens.input / 1e6, 4)))
        if tokens.output is not None:
            parts.append(_("{count} million answer tokens a month", count=words.short(tokens.output / 1e6, 4)))
        return words.listed(parts)
    run = service.demand.run
    if run is not None:
        return _("a run of {count} requests, {times} a month", count=words.count(run.requests),
                 times=words.short(run.per_month))  # fmt: skip
    return _("requests at once") if service.demand.peak_concurrency else _("arrivals")


def _growth(words: Wording, curve: GrowthCurve | None) -> str:
    _ = words.translate
    if curve is None:
        return _("none stated")
    months = months_ahead(words.run.scenario)
    factor = words.short(curve.factors(words.run.scenario.period, months)[-1])
    if curve.kind == "listed":
        return _("as listed: {factor} times in month {months}", factor=factor, months=months)
    rate = words.percent(curve.rate_per_month, 1)
    if curve.kind == "rate":
        return _("{rate} a month: {factor} times in month {months}", rate=rate, factor=factor, months=months)
    return _("{rate} a month at first, ending at {level} times: {factor} times in month {months}", rate=rate,
             level=words.short(curve.saturation_factor), factor=factor, months=months)  # fmt: skip


def week_figure(words: Wording) -> dict[str, str]:
    """The load curve, its title the finding; empty where nothing is known of the week."""
    _ = words.translate
    profiles = dict(_profiles(words))
    if not profiles:
        return {"title": "", "picture": "", "note": ""}
    shown = list(profiles.items())[:MOST_WEEKS]
    name, first = shown[0]
    title = _("{name}: on average the load is {share} of its peak", name=name, share=words.percent(first.mean_share))
    lines = [
        Week(name, profile.shares.tolist(), _("mean {share}", share=words.percent(profile.mean_share)))
        for name, profile in shown
    ]
    unit = _("load as a share of the peak")
    picture = week(title, lines, [_(day) for day in DAYS], unit=unit, number=words.percent)
    notes = [f"{name}: {words.translate.known(profile.note)}" for name, profile in shown if profile.note]
    if UTILISATION in stated_assumptions(words.run.scenario):
        notes.append(_("The average utilisation is stated in the scenario, and counts in its place."))
    return {"title": title, "picture": picture, "note": words.joined(*(_sentence(words, note) for note in notes))}


def _sentence(words: Wording, text: str) -> str:
    stop = "。" if words.language == "zh" else "."
    return text if text.endswith((".", "。")) else text + stop


def _profiles(words: Wording) -> Iterator[tuple[str, Profile]]:
    """Every profile once, under the name a reader knows."""
    seen = set()
    for each in words.run.scenario.service_axis:
        profile = each.workload.profile
        if profile is None or profile.name in seen:
            continue
        seen.add(profile.name)
        entry = words.run.catalog.profiles.get(profile.name)
        name = words.translate.known(entry.name) if entry else profile.name
        yield name if name != "scenario" else words.translate("own profile"), profile


def typical(words: Wording) -> str:
    """What the section says first: the length of a typical request and of a long one."""
    rows = words.run.workloads[words.run.workloads["workload_key"] == words.run.workloads["workload_key"].iloc[0]]
    by_name = rows.set_index("quantity")
    prompt, answer = by_name.loc["input_tokens"], by_name.loc["output_tokens"]
    if finite(prompt["p95"]) == finite(prompt["p50"]) and finite(answer["p95"]) == finite(answer["p50"]):
        return words.translate(
            "Every request has {prompt} prompt tokens and {answer} answer tokens.",
            prompt=words.number(prompt["mean"], "tokens"), answer=words.number(answer["mean"], "tokens"),
        )  # fmt: skip
    return words.translate(
        "Half of the requests have at most {prompt} prompt tokens and {answer} answer tokens; one in twenty has more "
        "than {long_prompt}, or more than {long_answer}.",
        prompt=words.number(prompt["p50"], "tokens"), answer=words.number(answer["p50"], "tokens"),
        long_prompt=words.number(prompt["p95"], "tokens"), long_answer=words.number(answer["p95"], "tokens"),
    )  # fmt: skip
