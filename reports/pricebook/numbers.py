"""Amounts, shares, days and terms as people write them in quotes; what is ambiguous is refused, not guessed."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from reports.pricebook.cells import Value

_CURRENCIES = {
    "cny": "CNY", "rmb": "CNY", "¥": "CNY", "￥": "CNY", "元": "CNY", "人民币": "CNY",
    "usd": "USD", "us$": "USD", "$": "USD", "美元": "USD", "eur": "EUR", "€": "EUR", "欧元": "EUR",
}  # fmt: skip
_AMOUNT = re.compile(
    r"(?P<before>cny|rmb|usd|us\$|eur|[¥￥$€])?\s*(?P<sign>[-+]?)(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"\s*(?P<scale>万)?\s*(?P<after>cny|rmb|usd|eur|元|[€])?\s*(?P<per>[/每].*|per .*)?"
)
_SCALE = {"万": 10_000.0}
_TEN, _HUNDRED = 10.0, 100.0


@dataclass(frozen=True)
class Amount:
    """A number, the currency that was written beside it (or blank), and what it was said to be for (``/hr``)."""

    value: float
    currency: str = ""
    per: str = ""


def amount(value: Value) -> Amount | None:
    """A number or an amount of money; None for anything else, formulas among it."""
    if isinstance(value, float):
        return Amount(value)
    found = _AMOUNT.fullmatch((value or "").casefold().strip())
    if found is None:
        return None
    number = float(f"{found['sign']}{found['digits'].replace(',', '')}") * _SCALE.get(found["scale"] or "", 1.0)
    return Amount(number, currency(found["before"] or found["after"] or ""), found["per"] or "")


def currency(text: str) -> str:
    """USD, CNY or EUR by code, sign or name; blank where the text names none."""
    folded = text.casefold().strip()
    if folded.upper() in _CURRENCIES.values():
        return folded.upper()
    return _CURRENCIES.get(folded) or next((code for word, code in _CURRENCIES.items() if word and word == folded), "")


def share(value: Value) -> float | None:
    """``5 %``, 0.05 -> 0.05; a bare number of 1 or more is no share."""
    if isinstance(value, float):
        return value if 0 <= value < 1 else None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([%％]?)", (value or "").strip())
    if found is None:
        return None
    number = float(found[1]) / (_HUNDRED if found[2] else 1.0)
    return number if 0 <= number < 1 else None


def discount(value: Value) -> float | None:
    """The share taken off: ``5 %``, 0.05, or the share left as it is said in Chinese: 9折 takes off 0.1, 95折 0.05."""
    found = re.fullmatch(r"(\d{1,2}(?:\.\d)?)\s*折", value.strip()) if isinstance(value, str) else None
    if found:
        left = float(found[1])
        return 1 - left / (_TEN if left < _TEN else _HUNDRED)
    return share(value)


def day(value: Value) -> str:
    """An ISO day; blank for anything else. ``2026/11/5`` and ``2026年11月5日`` are days, 11/05/26 is not."""
    found = re.fullmatch(r"(20\d\d)[-/.年](\d{1,2})[-/.月](\d{1,2})日?", str(value or "").strip())
    try:
        return datetime.date(*(int(part) for part in found.groups())).isoformat() if found else ""
    except ValueError:
        return ""


def last_day(value: Value, since: str) -> str:
    """A day, or so many days after the day of the quote (``30 days``, ``30天``); blank for anything else."""
    found = re.fullmatch(r"(\d{1,4})\s*(?:calendar )?(?:days?|天|日)", str(value or "").casefold().strip())
    if found and since:
        return (datetime.date.fromisoformat(since) + datetime.timedelta(days=int(found[1]))).isoformat()
    return day(value)


def term(value: Value) -> str:
    """A rental term as the price book writes it: on-demand, spot, reserved-3m, reserved-1y; blank for anything else."""
    text = str(value or "").casefold().strip()
    if text in ("on-demand", "on demand", "按需", "按量", "按量付费"):
        return "on-demand"
    if text in ("spot", "竞价", "抢占式"):
        return "spot"
    found = re.fullmatch(r"(?:reserved[- ])?(\d{1,3})[- ]?(m|months?|个月|月|y|years?|年)(?: reserved)?", text)
    if found is None or int(found[1]) == 0:
        return ""
    return f"reserved-{int(found[1])}{'y' if found[2][0] in 'y年' else 'm'}"
