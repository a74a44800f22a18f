"""Turns the lines of a quote into rows of the price book: finds the card by any of its names, or says why not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reports.catalog.records import REGIONS, Catalog
from reports.catalog.select import UnknownName, find, names_of, plain
from reports.catalog.tables import OFFER_REGIONS
from reports.constants import HOURS_PER_MONTH
from reports.errors import InputError, Problem
from reports.pricebook.lines import GOODS, PIECE, TOTAL, Line, Quote
from reports.pricebook.words import Words, known_words

IGNORE = "ignore"
SHARES = {"freight": "delivery_share", "installation": "installation_share", "support": "maintenance_share_per_year"}
"""What a quote lists beside the hardware -> the assumption that stands for it."""
LEAST_ALIAS_LETTERS = 2
_REGION_WORDS = {
    "中国": "china", "中国大陆": "china", "国内": "china", "美国": "us", "欧洲": "eu", "亚洲": "asia", "全球": "global",
}  # fmt: skip


@dataclass(frozen=True)
class Read:
    """What one line was read as: ``row`` is a row of ``table``, or nothing and the reason."""

    place: str
    item: str
    read_as: str
    price: str
    table: str = ""
    row: Mapping[str, object] = field(default_factory=dict)
    left_out: str = ""
    note: str = ""


@dataclass(frozen=True)
class Rows:
    """What a quote becomes: its lines as read, its source, and assumptions that its other lines speak about."""

    quote: Quote
    source: Mapping[str, object]
    lines: tuple[Read, ...]
    shares: tuple[tuple[str, float], ...]

    def of(self, table: str) -> list[Mapping[str, object]]:
        """The rows of one table."""
        return [each.row for each in self.lines if each.table == table]


def rows_of(quote: Quote, catalog: Catalog, items: Mapping[str, str], digest: str, as_of: str = "") -> Rows:
    """Every line as a row or left out with a reason; InputError when the quote has expired or names unknown cards of
    the mapping. ``as_of``: the day the quote must still hold; blank: it is not asked."""
    if as_of and quote.valid_until and quote.valid_until < as_of:
        raise InputError(Problem(quote.file, "has expired", where=quote.sheet, read=f"valid until {quote.valid_until}",
                                 expected=f"valid on {as_of}", hint="ask the vendor for a new one"))
    renamed = _renamed(items, catalog)
    words, taken = known_words(), set[str]()
    source = f"quote-{_slug(_provider(quote))}-{quote.date}-{digest[:8]}"
    lines = []
    for line in quote.lines:
        if line.role == TOTAL:
            continue
        lines.append(_read(line, quote, catalog, renamed, words, source, taken))
    title = f"{quote.kind} {quote.quote_id}".strip() + f" of {_provider(quote)}"
    record = {"id": source, "title": title, "locator": f"{Path(quote.file).name}; SHA-256 {digest}",
              "licence": "own, not to be passed on", "checked_on": quote.date}  # fmt: skip
    return Rows(quote, record, tuple(lines), _shares(quote, lines))


def _renamed(items: Mapping[str, str], catalog: Catalog) -> dict[str, str]:
    found, problems = {}, []
    for written, card in items.items():
        try:
            found[plain(written)] = card if card == IGNORE else find(catalog.gpus, card, "card")
        except UnknownName as error:
            problems.append(Problem("items", str(error), where=written, expected=f"a card of the catalog, or {IGNORE}"))
    if problems:
        raise InputError(problems)
    return found


def _provider(quote: Quote) -> str:
    return next((line.provider for line in quote.lines if line.provider), "unnamed vendor")


def _slug(text: str) -> str:
    return re.sub(r"[^\w]+", "-", text.casefold()).strip("-")[:40] or "vendor"


def _read(line: Line, quote: Quote, catalog: Catalog, renamed: Mapping[str, str], words: Words, source: str,
          taken: set[str]) -> Read:  # fmt: skip
    price = f"{line.price:,.2f} {line.currency}"
    if line.role != GOODS:
        stands = SHARES.get(line.role)
        reason = f"{line.role} is no hardware" + (f"; the assumption {stands} stands for it" if stands else "")
        return Read(line.place, line.item, line.role, price, left_out=reason)
    gpu, how, reason = _card(line, catalog, renamed)
    if not gpu:
        return Read(line.place, line.item, "", price, left_out=reason)
    region = _REGION_WORDS.get(line.region, line.region) or "global"
    if line.unit == PIECE:
        return _purchase(line, quote, catalog, gpu, how, region, words, source, taken)
    return _rent(line, quote, catalog, gpu, how, region, words, source, taken)


def _card(line: Line, catalog: Catalog, renamed: Mapping[str, str]) -> tuple[str, str, str]:
    """(card, how it was found, why there is none)."""
    for text in dict.fromkeys((line.item, line.gpu)):
        if plain(text) in renamed:
            card = renamed[plain(text)]
            return ("", "", "the mapping file says so") if card == IGNORE else (card, "by the mapping file", "")
    hint = ""
    for text in filter(None, dict.fromkeys((line.gpu, line.item))):
        try:
            return find(catalog.gpus, text, "card"), "by its name", ""
        except UnknownName as error:
            hint = hint or str(error)
        inside = _inside(text, catalog)
        if len(inside) == 1:
            return inside[0], "by a name inside the text", ""
        if inside:
            return "", "", f"may be {' or '.join(inside)}; name it under items of the mapping file"
    return "", "", f"{hint}; name it under items of the mapping file"


def _inside(text: str, catalog: Catalog) -> list[str]:
    """Cards whose longest name stands in a text as whole words."""
    folded = f"-{re.sub(r'[^0-9a-z.]+', '-', plain(text))}-"
    folded = re.sub(r"-(\d+)x(?=[a-z])", r"-\1-x-", folded)  # 8xH200 is eight of them
    best: dict[str, int] = {}
    for gpu in catalog.gpus.values():
        for name in names_of(gpu):
            word = re.sub(r"[^0-9a-z.]+", "-", name).strip("-")
            if len(word) > LEAST_ALIAS_LETTERS and not word.isdecimal() and f"-{word}-" in folded:
                best[gpu.id] = max(best.get(gpu.id, 0), len(word))
    return sorted(gpu for gpu, length in best.items() if length == max(best.values()))


def _cards(line: Line, gpu: str, kind: str, catalog: Catalog) -> int | None:
    if line.cards:
        return line.cards
    text = line.item.casefold()
    named = "|".join(r"[\s_-]*".join(map(re.escape, re.split(r"[\s_-]+", name))) for name in
                     sorted(names_of(catalog.gpus[gpu]), key=len, reverse=True))  # fmt: skip
    for form in (
        rf"(?<![\w.])(\d{{1,2}})\s*[x×*]\s*(?:[a-z]+\s+){{0,2}}(?:{named})(?![a-z0-9])",  # 8x NVIDIA H200
        rf"(?<![\w.])(?:{named})(?![a-z0-9])[^,;，；]{{0,12}}?\s*[x×*]\s*(\d{{1,2}})(?![\w.])",  # H200 SXM x8
        r"(?<![\w.])(\d{1,2})\s*(?:卡|张|-?gpus?\b|-?cards?\b)",  # 8卡, 8 GPU
    ):
        if found := re.search(form, text):
            return int(found[1])
    return 1 if kind == "card" else None


def _purchase(line: Line, quote: Quote, catalog: Catalog, gpu: str, how: str, region: str, words: Words, source: str,
              taken: set[str]) -> Read:  # fmt: skip
    kind = words.inside(line.item, "kind:") or words.inside(line.gpu, "kind:") or "card"
    cards = _cards(line, gpu, kind, catalog)
    if kind == "card" and (cards or 1) > 1:
        kind = "server"
    price = f"{line.price:,.2f} {line.currency} a {kind}"
    if cards is None:
        reason = f"a {kind} of {gpu} that does not say how many cards it has; add a column of cards"
        return Read(line.place, line.item, gpu, price, left_out=reason)
    if region not in REGIONS:
        return Read(line.place, line.item, gpu, price, left_out=f'"{region}" is no region: {", ".join(REGIONS)}')
    row = {
        "purchase_id": _once(f"{_slug(line.provider or 'vendor')}-{gpu}-{kind}-{quote.date.replace('-', '')}", taken),
        "gpu": gpu, "item": safe(line.item), "kind": kind, "cards": cards, "region": region, "currency": line.currency,
        "price_low": f"{line.price:.2f}", "price": f"{line.price:.2f}", "price_high": f"{line.price:.2f}",
        **_common(line, quote, source), "confidence": "high",
    }  # fmt: skip
    host = catalog.hosts.get(catalog.gpus[gpu].host)
    size = host.value("server_cards") if host else float("nan")
    note = f"found {how}"
    if kind in ("server", "rack") and size == size and size != cards:
        note += f"; a report buys servers of {size:g} cards ({catalog.gpus[gpu].host}), so this one is not used"
    return Read(line.place, line.item, f"{kind} of {cards} x {gpu}", price, "prices/purchase.csv", row, note=note)


def _rent(line: Line, quote: Quote, catalog: Catalog, gpu: str, how: str, region: str, words: Words, source: str,
          taken: set[str]) -> Read:  # fmt: skip
    monthly, whole = line.unit.endswith("month"), line.unit.startswith("instance")
    cards = _cards(line, gpu, "server" if whole else "card", catalog)
    price = f"{line.price:,.2f} {line.currency} a {line.unit}"
    if cards is None:
        reason = f"an instance of {gpu} that does not say how many cards it has; add a column of cards"
        return Read(line.place, line.item, gpu, price, left_out=reason)
    if region not in OFFER_REGIONS:
        return Read(line.place, line.item, gpu, price, left_out=f'"{region}" is no region: {", ".join(OFFER_REGIONS)}')
    each = line.price / (cards if whole else 1) / (HOURS_PER_MONTH if monthly else 1)
    term = line.term or ("reserved-1m" if monthly else "on-demand")
    stem = f"{_slug(line.provider or 'vendor')}-{gpu}-x{cards}-{region}-{term}-{quote.date.replace('-', '')}"
    row = {
        "offer_id": _once(stem, taken), "gpu": gpu, "gpu_name": catalog.gpus[gpu].name, "segment": "contract",
        "instance": safe(line.item), "instance_cards": cards, "region": region, "location": "",
        "currency": line.currency, "price_per_card_hour": f"{each:.6g}", "term": term, "status": "ok",
        "quoted_unit": line.unit, **_common(line, quote, source),
    }  # fmt: skip
    row["provider"] = row["provider"] or "unnamed vendor"
    said = f"found {how}" + ("" if line.term else f"; no term is stated, {term} taken")
    return Read(line.place, line.item, f"rent of {cards} x {gpu}, {term}", f"{each:.4g} {line.currency} a card-hour",
                "prices/rental.csv", row, note=said)


def _common(line: Line, quote: Quote, source: str) -> dict[str, object]:
    off = f"{quote.discount:.1%} off the whole quote" if quote.discount else ""
    taxed = f"quoted with {quote.tax_rate:.4g} tax in it" if quote.tax == "included" else ""
    many = f"quantity {line.quantity:g}" if line.quantity else ""
    note = "; ".join(each for each in (line.note, many, off, taxed, quote.payment, f"cell {line.place}") if each)
    return {
        "provider": safe(line.provider), "basis": "published", "confirmed": "true", "source": source,
        "as_of": quote.date, "precision": "day", "note": safe(note), "price_kind": quote.kind,
        "vat": "unstated" if quote.tax == "unstated" else "excluded", "valid_until": quote.valid_until,
    }  # fmt: skip


def _once(stem: str, taken: set[str]) -> str:
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name)
    return name


def safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula when somebody opens the overlay in one."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def _shares(quote: Quote, lines: list[Read]) -> tuple[tuple[str, float], ...]:
    """Freight, installation and support over the hardware that was read, as the assumptions count them."""
    read = {each.place for each in lines if each.table == "prices/purchase.csv"}
    hardware = [line for line in quote.lines if line.place in read]
    currencies = {line.currency for line in quote.lines if line.role in (GOODS, *SHARES)}
    base = sum(line.amount for line in hardware)
    if not base or len(currencies) != 1:
        return ()
    paid = {role: sum(line.amount for line in quote.lines if line.role == role) for role in SHARES}
    return tuple((SHARES[role], amount / base) for role, amount in paid.items() if amount and role != "support")
