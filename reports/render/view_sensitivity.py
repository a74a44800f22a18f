"""What would change the money, in words: a tornado over the plan, chances, and the values at which decisions turn."""

from __future__ import annotations

from typing import Any

from reports.cost.timeline import NOT_COMPARED
from reports.cost.ways import ALWAYS, BUY, LABELS
from reports.render.tornado_chart import Swing, tornado
from reports.render.wording import Wording
from reports.sensitivity.tornado import PLAN

Row = dict[str, Any]

MOST_BARS = 10
MOST_TURNS = 12


def _name(words: Wording, row: Row) -> str:
    """An input in a few words: its label, and the card or service it belongs to."""
    label = words.translate(str(row["label"]))
    key, scope = str(row["key"]), str(row["scope"])
    if scope == "demand":
        return f"{label}{words.translate(': ')}{words.service(key)}"
    if scope == "measured":
        options = words.run.shortlist.set_index("option_id")
        gpu = words.gpu(options.loc[key, "gpu"]) if key in options.index else key
        service = words.service(options.loc[key, "service"]) if key in options.index else ""
        return f"{label}{words.translate(': ')}{service}, {gpu}"
    found = next((gpu for gpu in sorted(words.run.catalog.gpus, key=len, reverse=True) if gpu in key), "")
    return f"{label}{words.translate(': ')}{words.gpu(found)}" if found else label


def _value(words: Wording, row: Row, which: str) -> str:
    return words.with_unit(row[which], str(row["unit"]), str(row["column"]), 3)


def figure(words: Wording) -> Row:
    """The tornado over the monthly cost of the whole plan; empty where nothing moves it."""
    frame = words.run.tornado
    rows = frame[frame["option_id"] == PLAN].head(MOST_BARS).to_dict("records") if len(frame) else []
    if not rows:
        return {}
    base = float(rows[0]["cost"])
    values = [value for row in rows for value in (row["cost_at_low"], row["cost_at_high"])]
    swings = [
        Swing(_name(words, row), float(row["cost_at_low"]), float(row["cost_at_high"]),
              _value(words, row, "low"), _value(words, row, "high"))
        for row in rows
    ]  # fmt: skip
    title = words.translate(
        "{input} moves the plan most: from {low} to {high} a month",
        input=swings[0].label,
        low=words.amount(min(swings[0].at_low, swings[0].at_high)),
        high=words.amount(max(swings[0].at_low, swings[0].at_high)),
    )
    picture = tornado(
        title,
        base,
        swings,
        base_label=words.translate("plan: {amount} a month", amount=words.amount(base)),
        ends=(words.amount(min(values)), words.amount(max(values))),
    )
    note = words.translate(
        "Each input alone at its low and its high, everything else as planned, each service kept the way it was chosen."
    )
    return {"title": title, "picture": picture, "note": note}


def chances(words: Wording) -> list[Row]:
    """For every winner: how often each way is the cheapest of its service, and the range of what was chosen."""
    frame = words.run.chances
    shown = []
    for row in words.run.winners().to_dict("records"):
        own = frame[frame["service"] == row["service"]] if len(frame) else frame
        chosen = own[(own["option_id"] == row["option_id"]) & (own["way"] == row["way"])]
        if chosen.empty:
            continue
        best = chosen.iloc[0]
        rival = own.drop(chosen.index).sort_values("cheapest_share", ascending=False).head(1).to_dict("records")
        shown.append(
            {
                "service": words.service(row["service"]),
                "choice": f"{words.translate(LABELS[row['way']])}, {words.gpu(row['gpu'])}",
                "share": words.percent(best["cheapest_share"]),
                "range": words.translate(
                    "{low} to {high}", low=words.amount(best["cost_p10"]), high=words.amount(best["cost_p90"])
                ),
                "cards": words.translate(
                    "{low} to {high}", low=words.count(best["cards_p10"]), high=words.count(best["cards_p90"])
                ),
                "rival": _rival(words, rival[0]) if rival and rival[0]["cheapest_share"] >= 0.005 else "–",
            }
        )
    return shown


def _rival(words: Wording, row: Row) -> str:
    options = words.run.shortlist.set_index("option_id")
    gpu = words.gpu(options.loc[row["option_id"], "gpu"])
    way = words.translate(LABELS[row["way"]])
    return f"{way}, {gpu}{words.translate(': ')}{words.percent(row['cheapest_share'])}"


def stopping(words: Wording) -> list[str]:
    """For every winner with both prices: what its way loses at most against the other if the service stops early."""
    said = []
    for row in words.run.winners().to_dict("records"):
        if not words.both_ways or row["break_even_code"] == NOT_COMPARED:
            continue
        months = words.run.timelines[words.run.timelines["option_id"] == row["option_id"]].sort_values("month")
        chosen, other = str(row["way"]), ALWAYS if row["way"] == BUY else BUY
        regret = months[f"{chosen}_regret_amount"].to_numpy(dtype=float)
        at = int(regret.argmax())
        values = {
            "service": words.service(row["service"]), "way": words.translate(LABELS[chosen]),
            "amount": words.amount(regret[at]),
            "against": words.amount(row[f"{other}_worst_regret_amount"]),
            "month": words.number(months["month"].iloc[at], "month"),
        }  # fmt: skip
        if regret[at] <= 0:
            said.append(words.translate(
                "{service}, {way}: in no month would the other way have been cheaper had the service stopped then; "
                "the other way could lose {against}.", **values))  # fmt: skip
            continue
        said.append(words.translate(
            "{service}, {way}: if the service stops early, at most {amount} is lost against the other way (month "
            "{month}); the other way could lose {against}.", **values))  # fmt: skip
    return said


def turns(words: Wording) -> list[str]:
    """Values between low and high at which another way or another card becomes the cheapest, one sentence each."""
    frame = words.run.tornado
    if frame.empty:
        return []
    deciding = frame[frame["decides"].astype(bool) & frame["switching_value"].notna()]
    return [_turn(words, row) for row in deciding.head(MOST_TURNS).to_dict("records")]


def _turn(words: Wording, row: Row) -> str:
    lower = float(row["switching_value"]) < float(row["mid"])
    end = "low" if lower else "high"
    options = words.run.shortlist.set_index("option_id")
    gpu = words.gpu(options.loc[row[f"option_at_{end}"], "gpu"])
    return words.translate(
        "{service}: {input} below {value}: {way}, {card}."
        if lower
        else "{service}: {input} above {value}: {way}, {card}.",
        service=words.service(row["service"]),
        input=_name(words, row),
        value=words.with_unit(row["switching_value"], str(row["unit"]), str(row["column"]), 3),
        way=words.translate(LABELS[row[f"way_at_{end}"]]),
        card=gpu,
    )
