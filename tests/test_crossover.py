"""Where own cards win over a hosted API: the published piecewise fixture, and all counts tried in small cases."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from reports.cost.crossover import OwnCurve, deployment_capacity_tokens, exact, first_token_where_own_wins

# 80/20 token mix, 100 output tokens a second, 90 % planned, 100 hours, peak factor 2: 100 x 3600 x 100 x 0.9 / 2 = 16.2
# million output tokens, a fifth of what is billed: 81 million. Hosted at 1 and 3 USD per million: 0.8 + 0.6 = 1.40.
CAPACITY = 81_000_000
HOSTED = 0.8 * 1 + 0.2 * 3


def test_capacity_of_one_deployment() -> None:
    assert (
        deployment_capacity_tokens(
            output_tokens_per_s=100, hours=100, planning_share=0.9, peak_factor=2, output_share=0.2
        )
        == CAPACITY
    )


def test_published_points_of_the_piecewise_curve() -> None:
    rent = OwnCurve(fixed=0, per_deployment=2 * 100, capacity_tokens=CAPACITY)
    purchase = OwnCurve(fixed=0, per_deployment=24_000 / 60, capacity_tokens=CAPACITY)
    assert (rent.amount(1_000_000), purchase.amount(1_000_000)) == (200, 400)
    assert exact(1.4) * Fraction(81, 2) == exact(56.7)
    assert rent.deployments(80_190_000) == 1
    assert rent.deployments(81_000_000) == 1
    assert rent.deployments(81_000_001) == 2


def test_rent_never_wins_at_two_dollars_an_hour() -> None:
    # a full deployment is worth 81 x 1.40 = 113.40 hosted and costs 200
    assert first_token_where_own_wins(OwnCurve(0, 200, CAPACITY), 1.4) is None


def test_first_crossing_is_exact_to_the_token() -> None:
    curve = OwnCurve(fixed=30, per_deployment=100, capacity_tokens=CAPACITY)
    first = first_token_where_own_wins(curve, 1.4)
    assert first == 235_714_286
    assert curve.deployments(first) == 3
    assert curve.amount(first) == 330
    price = exact(1.4) / 1_000_000
    assert curve.amount(first) <= price * first
    assert curve.amount(first - 1) > price * (first - 1)


def test_hosted_price_from_floats_is_read_as_the_decimal_meant() -> None:
    assert first_token_where_own_wins(OwnCurve(30, 100, CAPACITY), round(HOSTED, 12)) == 235_714_286


@given(
    fixed=st.integers(0, 40),
    step=st.integers(0, 30),
    capacity=st.integers(1, 25),
    price=st.integers(1, 4_000_000),
)
def test_agrees_with_trying_every_token(fixed: int, step: int, capacity: int, price: int) -> None:
    curve = OwnCurve(fixed, step, capacity)
    found = first_token_where_own_wins(curve, float(price))
    each = Fraction(price, 1_000_000)
    tried = next((tokens for tokens in range(1, 3_000) if curve.amount(tokens) <= each * tokens), None)
    if found is None or found >= 3_000:
        assert tried is None
    else:
        assert found == tried
