"""What would change the answer, in words: the ranked switches of the services, and long requests apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.plan import pools, switches
from reports.render.wording import Wording, finite

Row = dict[str, Any]

MOST_ROWS = 12

def N_(message: str) -> str:
    """Marks a message for the catalogue."""
    return message


SAID: dict[str, str] = {
    switches.TPOT: N_("TPOT target {after} ms instead of {before} ms"),
    switches.TTFT: N_("TTFT target {after} ms instead of {before} ms"),
    switches.ANSWER: N_("Target for the whole answer {after} ms instead of {before} ms"),
    switches.INPUT: N_("Prompts of {after} tokens on average instead of {before}"),
    switches.OUTPUT: N_("Answers of {after} tokens on average instead of {before}"),
    switches.PREFIX: N_("{after} of the prompt from the prefix cache instead of {before}"),
    switches.KV_CACHE: N_("KV cache in FP8 instead of 16 bit"),
    switches.SPECULATIVE: N_("Speculative decoding with {after} drafted tokens"),
    switches.SPARES: N_("No spare units instead of {before}"),
    switches.HEADROOM: N_("Headroom of {after} instead of {before}"),
    switches.QUANTIZATION: N_("Weights in {after} instead of {before}"),
    switches.CARD: N_("{after} instead of {before}"),
}
"""Change -> its words."""


def switch_rows(words: Wording) -> list[dict[str, Any]]:
    """The switches that save most, over all services."""
    frame = words.run.switches
    ordered = frame.assign(_servers=frame["servers_saved"].fillna(0)).sort_values(
        ["amount_per_month_saved", "_servers"], ascending=False, kind="stable"
    )
    return [_row(words, row) for row in ordered.head(MOST_ROWS).to_dict("records")]


def left_out(words: Wording) -> str:
    """How many the table leaves out."""
    more = len(words.run.switches) - MOST_ROWS
    return words.counted(more, "{n} further change saves less.", "{n} further changes save less.") if more > 0 else ""


def _row(words: Wording, row: Mapping[Any, Any]) -> dict[str, Any]:
    saved = finite(row["amount_per_month_saved"]) or 0.0
    servers = finite(row["servers_saved"]) or 0.0
    noticeable = abs(saved) > switches.NOTICEABLE * float(row["amount_before"])
    money = words.translate("nothing") if not noticeable else words.amount(abs(saved))
    if noticeable and saved < 0:
        money = words.translate("costs {amount} more", amount=money)
    return {
        "service": words.service(row["service"]),
        "change": said(words, row),
        "cards": f"{words.count(row['cards_before'])} → {words.count(row['cards_after'])}",
        "servers": words.count(servers) if servers else "–",
        "money": money,
    }


def said(words: Wording, row: Mapping[Any, Any]) -> str:
    """One change in words."""
    change = str(row["change"])
    return words.translate(
        SAID[change], before=_value(words, change, row["from"]), after=_value(words, change, row["to"])
    )


def _value(words: Wording, change: str, value: Any) -> str:
    if change in (switches.PREFIX, switches.HEADROOM):
        return words.percent(value)
    if change == switches.CARD:
        return words.gpu(value)
    if change in (switches.QUANTIZATION, switches.KV_CACHE):
        return words.quantization(value)
    return words.short(value, 4)


def pool_sentences(words: Wording) -> list[str]:
    """For every service with prompts of different lengths: whether the long ones should run apart."""
    frame = words.run.pools
    said_of, one = [], []
    for service in dict.fromkeys(frame["service"]):
        rows = {str(row["pool"]): row for row in frame[frame["service"] == service].to_dict("records")}
        if rows[pools.ALL]["better"] == pools.NO:
            one.append(words.service(service))
        else:
            said_of.append(_two(words, str(service), rows))
    if one:
        said_of.append(
            words.translate("One pool is better, or as good, for: {services}.", services=words.listed(one))
        )
    return said_of


def _two(words: Wording, service: str, rows: Mapping[str, Mapping[Any, Any]]) -> str:
    whole, short, long = rows[pools.ALL], rows[pools.SHORT], rows[pools.LONG]
    saved = whole["amount_per_month"] - short["amount_per_month"] - long["amount_per_month"]
    values = {
        "service": words.service(service), "tokens": words.short(whole["split_tokens"], 4),
        "share": words.percent(1 - whole["split_share"]), "short": words.count(short["cards"]),
        "long": words.count(long["cards"]), "all": words.count(whole["cards"]), "amount": words.amount(saved),
        "ttft": words.short(short["ttft_ms"], 3), "ttft_all": words.short(whole["ttft_ms"], 3),
        "short_card": words.gpu(_card(short)), "long_card": words.gpu(_card(long)), "all_card": words.gpu(_card(whole)),
    }  # fmt: skip
    if whole["better"] == pools.LATENCY:
        return words.translate(
            "{service}: prompts above {tokens} tokens ({share}) apart cost the same, and the others see the first "
            "token after {ttft} ms instead of {ttft_all} ms ({short} × {short_card} and {long} × {long_card} instead "
            "of {all} × {all_card}).",
            **values,
        )
    return words.translate(
        "{service}: prompts above {tokens} tokens ({share}) apart: {short} × {short_card} and {long} × {long_card} "
        "instead of {all} × {all_card}, {amount} a month less.",
        **values,
    )


def _card(row: Mapping[Any, Any]) -> str:
    return str(row["gpu"])
