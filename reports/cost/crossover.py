"""The traffic at which own cards win over a hosted API: the first whole token on a piecewise curve.

Hosted cost rises evenly with the tokens; own cost rises by steps, one deployment after another. So there may be
several crossings; the first one is what a planner asks for, and it is exact because tokens are whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

MTOK = 1_000_000


@dataclass(frozen=True)
class OwnCurve:
    """Own cost a month: ``fixed`` plus ``per_deployment`` for each deployment that the tokens need.

    Amounts in one currency; they are taken as the decimals they were written as, so that no binary rounding moves a
    crossing by a token. ``capacity_tokens``: billed tokens that one deployment serves in a month.
    """

    fixed: float
    per_deployment: float
    capacity_tokens: float

    def deployments(self, tokens: int) -> int:
        """Whole deployments for a month's tokens; none for no traffic."""
        return ceil(Fraction(tokens) / exact(self.capacity_tokens))

    def amount(self, tokens: int) -> Fraction:
        """Own cost of a month with these tokens."""
        return exact(self.fixed) + self.deployments(tokens) * exact(self.per_deployment)


def exact(value: float) -> Fraction:
    """The decimal that a float prints as: 1.4 is 14/10."""
    return Fraction(repr(float(value)))


def first_token_where_own_wins(curve: OwnCurve, hosted_per_mtok: float) -> int | None:
    """Least whole number of tokens a month (1 or more) at which own cost <= hosted cost; None when there is none.

    With n deployments own cost is level, so hosted passes it once: at ``own(n) / price`` tokens, if that many still
    fit n deployments. When a full deployment costs more than the hosted price of what it serves, every later one does
    too, and the fixed part never comes back.
    """
    price = exact(hosted_per_mtok) / MTOK
    capacity, step, fixed = exact(curve.capacity_tokens), exact(curve.per_deployment), exact(curve.fixed)
    if price <= 0 or capacity < 1:
        return None
    gain = price * capacity - step
    if gain > 0:
        first = max(1, ceil(fixed / gain))
    elif gain == 0 and fixed == 0:
        first = 1
    else:
        return None
    for deployments in (first, first + 1):  # whole tokens may leave the last one of a level out of reach
        least = max(1, ceil((fixed + deployments * step) / price), int((deployments - 1) * capacity) + 1)
        if least <= deployments * capacity:
            return least
    return None


def deployment_capacity_tokens(
    *, output_tokens_per_s: float, hours: float, planning_share: float, peak_factor: float, output_share: float
) -> float:
    """Billed tokens that one deployment serves in ``hours``: output rate x planning share / peak, and its input."""
    served = exact(output_tokens_per_s) * 3600 * exact(hours) * exact(planning_share) / exact(peak_factor)
    return float(served / exact(output_share))
