"""How a quantity is shown: one kind a unit, with its spreadsheet number format and its text in each language."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from babel.dates import format_date
from babel.numbers import format_decimal, format_percent

from reports.units import day_of

NOT_AVAILABLE = "n/a"
LOCALES = {"en": "en_GB", "zh": "zh_Hans_CN"}


@dataclass(frozen=True)
class NumberKind:
    """A way of showing numbers."""

    name: str
    excel: str


GENERAL = NumberKind("general", "General")
COUNT = NumberKind("count", "#,##0")
QUANTITY = NumberKind("quantity", "[=0]0;[>=1]#,##0.00;0.0000")
"""Measured or computed: more digits below 1, where two would hide the figure."""
LIMIT = NumberKind("limit", "[>=1000000000]0.0E+00;#,##0.00")
"""A limit that may be so far away that it is none: ten digits and more would not fit its column."""
FARTHEST = 1e9
"""From here on a limit is shown as a power of ten, as the code of its kind says."""
FACTOR = NumberKind("factor", "0.00##")
DISCOUNT = NumberKind("discount", "0.0000")
PERCENT = NumberKind("percent", "0.0%")
SMALL_PERCENT = NumberKind("small percent", "0.000%")
FLAG = NumberKind("flag", '"yes";;"no"')
PRICE = NumberKind("price", "#,##0.00;(#,##0.00)")
AMOUNT = NumberKind("amount", "#,##0;(#,##0);0")
SERIAL = NumberKind("serial", "0")
DATE = NumberKind("date", "yyyy-mm-dd")
TEXT = NumberKind("text", "@")

KINDS = (
    GENERAL, COUNT, QUANTITY, LIMIT, FACTOR, DISCOUNT, PERCENT, SMALL_PERCENT, FLAG, PRICE, AMOUNT, SERIAL, DATE, TEXT,
)  # fmt: skip

_KIND_OF_UNIT: dict[str, NumberKind] = {
    **dict.fromkeys(
        ("tokens", "layers", "heads", "elements", "experts", "matrices", "ranks", "replicas", "requests", "cards",
         "servers", "units", "copies", "kernels", "months", "instances", "W", "card-months", "users"),
        COUNT,
    ),
    **dict.fromkeys(("month", "days"), SERIAL),
    **dict.fromkeys(("pieces",), COUNT),
    "day": DATE,
    **dict.fromkeys(("ratio", "exponent", "passes", "bytes", "ratio/year"), FACTOR),
    "ratio/month": SMALL_PERCENT,
    "flag": FLAG,
    "date": DATE,
    "text": TEXT,
    "currency": AMOUNT,
    "currency/month": AMOUNT,
    "currency/quarter": AMOUNT,
    "currency/server": AMOUNT,
    "quote currency/server": AMOUNT,
}  # fmt: skip

_PERCENT_ENDINGS = (
    "_share", "_utilisation", "_discount_rate", "_growth_rate", "_share_per_year", "rule_prefill_utilisation_pcie",
)  # fmt: skip
_FINE_SHARES = ("availability_share", "availability_target_share", "server_loss_share")
"""Shares whose third digit after the point decides."""
_LIMITS = ("answer_target_ms", "run_limit_s", "demand_run_hours")
_FRACTIONAL_COUNTS = ("stage_requests", "group_requests", "experts_touched", "crowd_experts", "demand_concurrency",
                      "month_demand_concurrency", "prefill_concurrency", "decode_concurrency")  # fmt: skip


def kind_of(unit: str, column: str = "") -> NumberKind:
    """The kind of a unit; a ratio whose name says share or rate is a percentage, and an average count has digits."""
    plain = column.split("@")[0]
    if plain.endswith(_FINE_SHARES):
        return SMALL_PERCENT
    if unit in ("ratio", "ratio/year") and plain.endswith(_PERCENT_ENDINGS):
        return PERCENT
    if plain == "discount_factor":
        return DISCOUNT
    if plain in _LIMITS:
        return LIMIT
    if plain in _FRACTIONAL_COUNTS:
        return QUANTITY
    if unit in _KIND_OF_UNIT:
        return _KIND_OF_UNIT[unit]
    return PRICE if "currency" in unit else QUANTITY


def excel_code(unit: str, column: str = "") -> str:
    """The number format of a cell that holds this unit."""
    return kind_of(unit, column).excel


UNIT_WORDS: dict[str, str] = {
    "1e9": "billion",
    "ratio": "",
    "ratio/year": "per year",
    "ratio/month": "per month",
    "exponent": "",
    "flag": "yes/no",
    "us": "µs",
    "month": "",
    "text": "",
    "date": "",
}
"""Units whose short form is not what a reader should see."""


def unit_label(unit: str, currency: str = "currency", column: str = "") -> str:
    """The English unit as shown (a msgid), with the scenario's currency in it; percentages carry their own sign."""
    if kind_of(unit, column) is PERCENT:
        return UNIT_WORDS.get(unit, "")
    shown = UNIT_WORDS.get(unit, unit)
    # "offer currency" and "quote currency" are other currencies: the row's own, named by its source
    return shown if shown.startswith(("offer", "quote")) else shown.replace("currency", currency)


def shown(value: object, kind: NumberKind) -> str:
    """About what a spreadsheet shows for a value in this kind: for column widths and for text built from numbers."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if kind is FLAG:
        return "yes" if value else "no"
    if kind in (PERCENT, SMALL_PERCENT):
        return _rounded(value * 100, 1 if kind is PERCENT else 3) + "%"
    if kind is LIMIT:
        return f"{value:.1E}" if value >= FARTHEST else _rounded(value, 2)
    if kind is QUANTITY:
        return _rounded(value, 0 if value == 0 else 2 if value >= 1 else 4)
    if kind in (COUNT, AMOUNT, SERIAL, PRICE):
        text = _rounded(abs(value), 2 if kind is PRICE else 0)
        text = text.replace(",", "") if kind is SERIAL else text
        return text if value >= 0 else f"({text})" if kind in (AMOUNT, PRICE) else f"-{text}"
    if kind is DATE:
        return "2026-01-01"
    if kind is DISCOUNT:
        return _rounded(value, 4)
    return f"{value:.4g}" if kind is FACTOR else f"{value:.10g}"


def _rounded(value: float, places: int) -> str:
    """Halves away from zero, as spreadsheets round."""
    return f"{Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):,}"


def locale_of(language: str) -> str:
    """The Babel locale of a report language."""
    return LOCALES[language]


def format_number(value: float | None, unit: str, language: str, column: str = "", digits: int = 4) -> str:
    """The number as text, with at most ``digits`` significant digits (whole digits are never rounded away)."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    kind, locale = kind_of(unit, column), locale_of(language)
    if kind is FLAG:
        return {"en": ("no", "yes"), "zh": ("否", "是")}[language][bool(value)]
    if kind in (PERCENT, SMALL_PERCENT):
        return str(format_percent(value, "#,##0.0%" if kind is PERCENT else "0.000%", locale=locale))
    if kind is SERIAL:
        return str(round(value))
    if kind is DATE:
        return day_of(value).isoformat() if value >= 1 else "–"
    if kind in (COUNT, AMOUNT) or (value == round(value) and abs(value) < 1e15 and kind is not PRICE):
        text = format_decimal(round(abs(value)) if kind is AMOUNT else round(value), "#,##0", locale=locale)
        return f"({text})" if kind is AMOUNT and round(value) < 0 else str(text)
    if kind is PRICE:
        text = format_decimal(abs(value), "#,##0.00", locale=locale)
        return f"({text})" if value < 0 and text != "0.00" else str(text)
    return significant(value, language, digits)


def tenths(value: float, language: str) -> str:
    """The number with one decimal, whatever its size."""
    return str(format_decimal(value, "#,##0.0", locale=locale_of(language)))


def significant(value: float, language: str, digits: int = 4) -> str:
    """The number rounded to significant digits, without trailing zeros; tiny numbers with a power of ten."""
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if exponent < -4 or exponent >= 12:
        return f"{value / 10**exponent:.{digits - 1}f}e{exponent}"
    places = max(digits - 1 - exponent, 0)
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
    return str(format_decimal(rounded, "#,##0.########", locale=locale_of(language)))


def format_latex(value: float | None, unit: str, column: str = "", digits: int = 4) -> str:
    """The number for an equation: thousands set apart by thin spaces, tiny and huge ones with a power of ten."""
    if value is None or not math.isfinite(value):
        return r"\text{n/a}"
    if value != 0 and not 1e-4 <= abs(value) < 1e9:
        exponent = math.floor(math.log10(abs(value)))
        mantissa = f"{value / 10**exponent:.{digits - 1}f}".rstrip("0").rstrip(".")
        return rf"{mantissa} \times 10^{{{exponent}}}"
    text = significant(value, "en", 12 if value == round(value) else digits)
    return text.replace(",", r"\,")


def format_money(value: float | None, currency: str, language: str) -> str:
    """An amount short enough for a headline: k, M and bn in English, 万 and 亿 in Chinese."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    english, chinese = ((1e9, " bn"), (1e6, " M"), (1e3, " k")), ((1e8, " 亿"), (1e4, " 万"))
    steps: tuple[tuple[float, str], ...] = chinese if language == "zh" else english
    size, word = next((step for step in steps if abs(value) >= step[0]), (1.0, ""))
    text = significant(abs(value) / size, language, 3)
    text += (word + "元" if word else " 元") if (language, currency) == ("zh", "CNY") else f"{word} {currency}"
    return f"({text})" if value < 0 else text


def format_day(day: date, language: str) -> str:
    """A date as text: 30 November 2026, 2026年11月30日."""
    return str(format_date(day, "long", locale=locale_of(language)))


def format_month(month: str, language: str) -> str:
    """A ``YYYY-MM`` as text: November 2026, 2026年11月."""
    year, number = (int(part) for part in month.split("-"))
    pattern = "y年M月" if language == "zh" else "MMMM y"
    return str(format_date(date(year, number, 1), pattern, locale=locale_of(language)))
