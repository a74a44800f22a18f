"""From the cards of today to a plan: spares for what breaks, cards and orders by month, and what would need fewer.

1. ``spares``: units beyond the demand, the availability they give, the least that reach a target.
2. ``growth``: demand by month, and the units, servers, orders and rented bridge it needs; ``orders`` lists the orders.
3. ``switches``: one thing changed at a time, and the cards and money it would save.
4. ``pools``: long requests on cards of their own, when that needs fewer.
"""
