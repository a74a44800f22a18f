"""The sections a document can have: each is a title, a view function here and a template of the same name.

Which of them a report kind shows, and in what order, stands in its ``templates/<kind>/document.html.j2`` as
``{% set section_names = [...] %}``. The template is ``templates/<kind>/sections/<name>.html.j2``, for that kind alone,
or ``templates/sections/<name>.html.j2``; it reads what its view function returns as ``section.<key>``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reports.manifest import inputs_digest
from reports.render import (
    view_accuracy,
    view_count,
    view_fleet,
    view_growth,
    view_latency,
    view_money,
    view_nearby,
    view_options,
    view_purchase,
    view_risks,
    view_sensitivity,
    view_summary,
    view_switches,
    view_variance,
    view_ways,
    view_winners,
    view_workload,
)
from reports.render.evidence import assumptions as assumption_rows
from reports.render.evidence import chain, used_sources
from reports.render.view_summary import chain_winners, rows
from reports.render.wording import Wording

Row = dict[str, Any]


@dataclass(frozen=True)
class Document:
    """What all sections of one document share."""

    words: Wording
    section_names: tuple[str, ...] = ()
    """The sections it shows: what they quote is a source of the document."""

    @cached_property
    def winners(self) -> list[Row]:
        """The best option of each service that has one."""
        return rows(self.words.run.winners())

    @cached_property
    def chains(self) -> list[Row]:
        """The chains of formulas that are printed in full."""
        return [
            {
                **chain(self.words, row),
                "title": view_winners.option_name(self.words, row),
                "proof": view_options.proof(self.words, row),
            }
            for row in chain_winners(self.winners)
        ]

    @cached_property
    def assumptions(self) -> list[Row]:
        """All assumptions of the run."""
        return assumption_rows(self.words)

    @cached_property
    def others(self) -> list[dict[str, str]]:
        """Other methods and tools that were compared."""
        return view_accuracy.others(self.words)

    @cached_property
    def sources(self) -> list[str]:
        """Ids of the sources that the sections quote, in the order of their numbers."""
        found = dict.fromkeys(used_sources(self.chains))
        if every_assumption.__name__ in self.section_names:
            found.update(dict.fromkeys(used_sources([{"inputs": self.assumptions, "blocks": []}])))
        if accuracy.__name__ in self.section_names:
            found.update(dict.fromkeys(row["source"] for row in self.others))
        return list(found)

    @cached_property
    def reference(self) -> dict[str, str]:
        """Source id -> its number in brackets."""
        return {name: str(number) for number, name in enumerate(self.sources, 1)}


@dataclass(frozen=True)
class Section:
    """One section: its name, its title (a message), and what its template reads."""

    name: str
    title: str
    view: Callable[[Document], Row]


SECTIONS: dict[str, Section] = {}
"""Every section there is, by name."""


def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


SERVICE_TITLES = {"Recommendation by model": N_("Recommendation by service")}
"""Titles that differ where the scenario lists services."""


def section(title: str) -> Callable[[Callable[[Document], Row]], Callable[[Document], Row]]:
    """Registers a view function as the section of its name."""


    def register(view: Callable[[Document], Row]) -> Callable[[Document], Row]:
        name = view.__name__
        SECTIONS[name] = Section(name, title, view)
        return view

    return register


def title(document: Document, name: str) -> str:
    """The title of a section; a scenario that lists services speaks of them instead of models."""
    known = SECTIONS[name].title
    return document.words.translate(SERVICE_TITLES.get(known, known) if document.words.lists_services else known)


def shown(document: Document, templates: Sequence[tuple[str, str]]) -> list[Row]:
    """The sections of a document, from (name, template): what base.html.j2 lists and includes.

    A section whose view function finds nothing to say, and returns nothing, is left out.
    """
    found = [(name, template, SECTIONS[name].view(document)) for name, template in templates]
    return [
        {**view, "id": name, "title": title(document, name), "template": template}
        for name, template, view in found
        if view
    ]


@section(N_("Recommendation by model"))
def recommendation(document: Document) -> Row:
    """Every winner with its latency, limit and cost, and what limits it."""
    return {
        "lead": view_winners.lead(document.words),
        "both": document.words.both_ways,
        "recommendations": [view_winners.recommendation(document.words, row) for row in document.winners],
    }


@section(N_("Workload"))
def workload(document: Document) -> Row:
    """What was asked: how long requests are, how many there are, how that grows, and the load of a week."""
    words = document.words
    rows = view_workload.lengths(words)
    return {
        "lead": view_workload.typical(words),
        "many": any(row["of"] for row in rows),
        "lengths": rows,
        "more": view_workload.more(words),
        "axis": words.translate("Service" if words.lists_services else "Model"),
        "demands": view_workload.demands(words),
        "left_out": view_workload.left_out(words),
        "week": view_workload.week_figure(words),
    }


@section(N_("Options compared"))
def options(document: Document) -> Row:
    """Options side by side, and why the others cannot be used."""
    return {
        "lead": view_options.lead(document.words),
        "models": view_options.by_service(document.words),
        "front": view_options.front_figure(document.words),
        "currency": document.words.currency,
        "ways": document.words.ways,
    }


@section(N_("Latency under load"))
def latency(document: Document) -> Row:
    """The simulation beside the closed form, and latency against load."""
    return view_latency.section(document.words, document.winners)


@section(N_("Card count"))
def card_count(document: Document) -> Row:
    """Why this many cards, what caution costs, and what a loss leaves."""
    words, winners = document.words, document.winners
    if not winners:
        return {}
    return {
        "lead": view_count.lead(words, winners),
        "rows": view_count.counts(words, winners),
        "caution": view_count.caution(words, winners),
        "whole": view_count.whole(words),
        "development": any(row["development_units"] for row in winners),
        "sentences": view_count.sentences(words, winners),
    }


@section(N_("Growth and orders"))
def growth(document: Document) -> Row:
    """Cards by month, and when to order what; left out where nothing changes."""
    words = document.words
    if not view_growth.has_outlook(words):
        return {}
    return {
        "alone": view_growth.alone(words, document.winners),
        "figures": view_growth.figures(words, document.winners),
        "orders": view_growth.order_rows(words),
        "left_out": view_growth.left_out(words),
    }


@section(N_("Fleet plan"))
def fleet(document: Document) -> Row:
    """What to keep, buy, rent and release for all services together; left out where no pool is planned."""
    return view_fleet.view(document.words)


@section(N_("Against the previous run"))
def variance(document: Document) -> Row:
    """What to buy, rent or release against an earlier run, and why the money moved; left out where none was named."""
    return view_variance.view(document.words)


@section(N_("What changes the answer"))
def switches(document: Document) -> Row:
    """One thing changed at a time, the most useful first; and whether long requests should run apart."""
    words = document.words
    rows, pools = view_switches.switch_rows(words), view_switches.pool_sentences(words)
    if not rows and not pools:
        return {}
    return {"rows": rows, "left_out": view_switches.left_out(words), "pools": pools}


@section(N_("Cost over time"))
def costs(document: Document) -> Row:
    """Cumulative cost of both ways, and the cost lines they consist of."""
    return {
        "lead": document.words.joined(
            document.words.translate(
                "Cumulative cost, discounted to the day of purchase; prices exclude value-added tax."
                if "buy" in document.words.ways
                else "Cumulative cost, discounted to the first day; prices exclude value-added tax."
            ),
            view_money.counted(document.words),
        ),
        "charts": [view_money.cost_figure(document.words, row, small=True) for row in document.winners],
        "tables": [view_money.cost_lines(document.words, row) for row in document.winners],
    }


@section(N_("Ways to get the cards"))
def ways(document: Document) -> Row:
    """Rent in its forms, buy in its forms, both, and a hosted API, for the same demand."""
    words, winners = document.words, document.winners
    tables = view_ways.tables(words, winners)
    if not tables or not words.both_ways:
        return {}
    flat = words.translate("No hour-of-week profile is stated: the load is flat, so following it saves nothing.")
    return {
        "tables": tables,
        "sentences": view_ways.sentences(words, winners),
        "kept": view_ways.kept_note(words),
        "full": view_ways.full_and_marginal(words, winners),
        "books": view_ways.books(words, winners),
        "flat": "" if len(words.run.load) else flat,
    }


@section(N_("Orders, quotes and unit costs"))
def purchase(document: Document) -> Row:
    """What is ordered and when, when it is paid, what fits the budget, quotes side by side, and costs per unit."""
    return view_purchase.view(document.words, document.winners)


@section(N_("Risks and exclusions"))
def risks(document: Document) -> Row:
    """What may turn out otherwise, what the amounts count, and what they leave out."""
    return view_risks.view(document.words, document.winners)


@section(N_("Sign-off"))
def sign_off(document: Document) -> Row:
    """Lines to sign, and what exactly is signed."""
    words = document.words
    if not document.winners:
        return {}
    roles = (N_("Prepared by, capacity"), N_("Checked by, finance"), N_("Approved by"))
    scenario = words.run.scenario
    digest = inputs_digest(scenario, words.run.catalog)
    return {
        "lead": view_summary.headline(words, document.winners),
        "roles": [words.translate(role) for role in roles],
        "hash": words.translate("Made from the inputs with the hash {hash}, as of {date}.", hash=digest[:16],
                                date=words.day(scenario.as_of)),
    }  # fmt: skip


@section(N_("What would change the money"))
def sensitivity(document: Document) -> Row:
    """Tornado, chances, switching values, and the regret of stopping early."""
    words = document.words
    figure, chances = view_sensitivity.figure(words), view_sensitivity.chances(words)
    if not figure and not chances:
        return {}
    how = words.translate(
        "10,000 draws; every input with a range is drawn from a triangle between its low and its high, independent of "
        "the others; the capacity of the servers is drawn from the measured error of the method."
    )
    return {
        "figure": figure, "chances": chances, "turns": view_sensitivity.turns(words), "how": how,
        "stopping": view_sensitivity.stopping(words),
    }  # fmt: skip


@section(N_("Measured nearby"))
def nearby(document: Document) -> Row:
    """For every winner: how sure its figures are, and the nearest servers that were measured."""
    return {
        "winners": [
            {"title": view_winners.option_name(document.words, row), **view_nearby.winner(document.words, row)}
            for row in document.winners
        ]
    }


@section(N_("The method in words"))
def method(document: Document) -> Row:
    """What the method does, and the blocks of formulas it consists of."""
    return view_accuracy.method(document.words)


@section(N_("How wrong the method was on measured servers"))
def accuracy(document: Document) -> Row:
    """Errors by metric, with groups left out, and beside other methods."""
    return {
        "errors": view_accuracy.errors(document.words),
        "left_out": view_accuracy.one_out(document.words),
        "others": document.others,
        "reference": document.reference,
    }


@section(N_("Every assumption"))
def every_assumption(document: Document) -> Row:
    """All assumptions, also those the printed chains do not read."""
    return {"rows": document.assumptions, "reference": document.reference}


@section(N_("Evidence chain"))
def evidence(document: Document) -> Row:
    """Every formula of the printed chains."""
    return {"chains": document.chains, "reference": document.reference}


@section(N_("Inputs and assumptions"))
def assumptions(document: Document) -> Row:
    """Every number that goes into the printed chains."""
    return {"chains": document.chains, "reference": document.reference, "scopes": _scopes(document.words)}


@section(N_("Sources and document control"))
def sources(document: Document) -> Row:
    """Where the numbers come from, and how the document was made."""
    return {"sources": [_source(document.words, name) for name in document.sources]}


def _scopes(words: Wording) -> list[dict[str, Any]]:
    """The tables that inputs are sorted into."""
    _ = words.translate
    return [
        {"title": _("Workload, targets and demand"), "names": ("workload", "resident", "scenario", "demand")},
        {"title": _("Prices"), "names": ("offer", "market", "purchase", "exchange", "host")},
        {"title": _("Card and links"), "names": ("gpu", "link")},
        {"title": _("Model and weight format"), "names": ("model", "quantization")},
        {"title": _("Layout and search"), "names": ("layout", "solved")},
        {"title": _("Assumptions"), "names": ("assumption", "engine")},
    ]


def _source(words: Wording, name: str) -> dict[str, str]:
    """One source of the list."""
    found = words.run.catalog.sources.get(name)
    return {
        "id": name,
        "title": found.title if found else name,
        "locator": found.locator if found else "",
        "date": str(found.checked_on) if found else "",
    }
