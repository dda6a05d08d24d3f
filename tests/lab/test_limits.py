# SPDX-License-Identifier: Apache-2.0
"""What a queue promises, measured at the receiving end of real traffic through the lab's router.

On a kernel with fq the limits are kept by pacing, elsewhere by policing: the promise is the same.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from lab import measure, plan
from lab.measure import Flow
from tests.router import MEGABIT, Router, customer, rate
from weir.model.schedule import DAYS

SERVER = {4: plan.INTERNET_ADDRESSES[0], 6: plan.INTERNET_ADDRESSES[plan.INTERNET_COUNT]}
TOLERANCE = 0.02
TOTAL_TOLERANCE = 0.03


def flow(number: int, direction: str, offered_mbit: float, family: int = 4) -> Flow:
    client = plan.client_v4(number) if family == 4 else plan.client_v6(number)
    return Flow(client, SERVER[family], direction, int(offered_mbit * MEGABIT))


def test_each_direction_of_each_family_gets_its_limit(router: Router) -> None:
    router.bulk(upsert=[customer(n, max_limit_bps=rate(4, 6)) for n in range(4)])
    up4, down4, up6, down6 = measure.measure(
        [flow(0, "upload", 7), flow(1, "download", 9), flow(2, "upload", 7, 6), flow(3, "download", 9, 6)]
    )
    assert up4.rate_bps == pytest.approx(4e6, rel=TOLERANCE)
    assert up6.rate_bps == pytest.approx(4e6, rel=TOLERANCE)
    assert down4.rate_bps == pytest.approx(6e6, rel=TOLERANCE)
    assert down6.rate_bps == pytest.approx(6e6, rel=TOLERANCE)


def test_upload_is_classified_by_the_address_before_nat(router: Router) -> None:
    """The server sees the router's address; the limit of the client still holds."""
    router.bulk(upsert=[customer(0, max_limit_bps=rate(3, 3)), customer(1, max_limit_bps=rate(5, 5))])
    near = measure.bound(plan.CLIENT, plan.client_v4(0))
    far = measure.bound(plan.INTERNET, SERVER[4])
    with near, far:
        far.settimeout(2)
        near.sendto(b"who am I", (SERVER[4], far.getsockname()[1]))
        assert far.recvfrom(64)[1][0] == plan.WAN.router_v4
    first, second = measure.measure([flow(0, "upload", 8), flow(1, "upload", 8)])
    assert first.rate_bps == pytest.approx(3e6, rel=TOLERANCE)
    assert second.rate_bps == pytest.approx(5e6, rel=TOLERANCE)


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_a_customers_two_families_share_one_budget(router: Router, direction: str) -> None:
    router.put_queue("c0", **customer(0, max_limit_bps=rate(8, 8)) | {"name": "c0"})
    over4, over6 = measure.measure([flow(0, direction, 7), flow(0, direction, 7, 6)])
    assert over4.rate_bps + over6.rate_bps == pytest.approx(8e6, rel=TOLERANCE)


def test_the_far_end_chooses_among_queues_of_one_target(router: Router) -> None:
    near, cdn = plan.INTERNET_ADDRESSES[:2]
    router.bulk(
        upsert=[
            customer(0, dst=f"{cdn}/32", position=1, max_limit_bps=rate(5, 6)) | {"id": "cdn", "name": "cdn"},
            customer(0, position=2, max_limit_bps=rate(2, 3)),
        ]
    )
    client = plan.client_v4(0)
    flows = [Flow(client, far, way, 9 * MEGABIT) for far in (near, cdn) for way in ("upload", "download")]
    up, down, up_cdn, down_cdn = (flow.rate_bps for flow in measure.measure(flows))
    assert (up, down) == (pytest.approx(2e6, rel=TOLERANCE), pytest.approx(3e6, rel=TOLERANCE))
    assert (up_cdn, down_cdn) == (pytest.approx(5e6, rel=TOLERANCE), pytest.approx(6e6, rel=TOLERANCE))
    assert router.api.call("GET", "/queues/cdn/explain")["agrees"] is True


def test_an_interface_as_dst_is_the_way_out(router: Router) -> None:
    router.bulk(
        upsert=[
            customer(0, dst="wan0", position=1, max_limit_bps=rate(2, 3)),
            customer(1, dst="lan0", position=2, max_limit_bps=rate(2, 3)),
        ]
    )
    up, down, free = measure.measure([flow(0, "upload", 7), flow(0, "download", 7), flow(1, "upload", 7)])
    assert up.rate_bps == pytest.approx(2e6, rel=TOLERANCE)
    assert down.rate_bps == pytest.approx(3e6, rel=TOLERANCE)
    assert free.rate_bps == pytest.approx(7e6, rel=TOLERANCE)


def test_upload_and_download_share_a_total(router: Router) -> None:
    router.bulk(upsert=[customer(0, total={"max_limit_bps": 6_000_000})])
    assert router.api.call("GET", "/queues/c0/explain")["agrees"] is True
    for up_mbit, down_mbit, families in ((5, 5, (4, 4)), (12, 4, (6, 4))):
        up, down = measure.measure(
            [flow(0, "upload", up_mbit, families[0]), flow(0, "download", down_mbit, families[1])]
        )
        assert up.rate_bps + down.rate_bps == pytest.approx(6e6, rel=TOTAL_TOLERANCE)


def test_a_parents_total_holds_for_all_below_it(router: Router) -> None:
    parent = {"id": "tower", "name": "tower", "total": {"max_limit_bps": 8_000_000}}
    children = [customer(n, parent="tower", max_limit_bps=rate(6, 6)) for n in range(2)]
    router.bulk(upsert=[parent, *children])
    up, down = measure.measure([flow(0, "upload", 7), flow(1, "download", 7)])
    assert up.rate_bps + down.rate_bps == pytest.approx(8e6, rel=TOTAL_TOLERANCE)


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_two_children_share_their_parents_limit(router: Router, direction: str) -> None:
    parent = {"id": "tower", "name": "tower", "max_limit_bps": rate(10, 10)}
    children = [customer(n, parent="tower", max_limit_bps=rate(8, 8)) for n in range(2)]
    router.bulk(upsert=[parent, *children])
    first, second = measure.measure([flow(0, direction, 9), flow(1, direction, 9)])
    assert first.rate_bps + second.rate_bps == pytest.approx(10e6, rel=TOLERANCE)
    assert max(first.rate_bps, second.rate_bps) <= 8e6 * (1 + TOLERANCE)


def test_a_child_alone_is_held_to_its_own_limit(router: Router) -> None:
    parent = {"id": "tower", "name": "tower", "max_limit_bps": rate(10, 10)}
    router.bulk(upsert=[parent, customer(0, parent="tower", max_limit_bps=rate(4, 4))])
    (alone,) = measure.measure([flow(0, "download", 9)])
    assert alone.rate_bps == pytest.approx(4e6, rel=TOLERANCE)


def test_who_has_no_queue_is_not_limited(router: Router) -> None:
    router.bulk(upsert=[customer(0, max_limit_bps=rate(1, 1))])
    (free,) = measure.measure([flow(1, "download", 20)], warm_s=0.5, seconds=2)
    assert free.rate_bps == pytest.approx(20e6, rel=TOLERANCE)


def test_a_disabled_queue_limits_nothing_and_an_enabled_one_does_at_once(router: Router) -> None:
    router.bulk(upsert=[customer(0, max_limit_bps=rate(2, 2), disabled=True)])
    (open_,) = measure.measure([flow(0, "upload", 6)], warm_s=0.2, seconds=1.5)
    router.bulk(upsert=[customer(0, max_limit_bps=rate(2, 2))])
    (held,) = measure.measure([flow(0, "upload", 6)])
    assert open_.rate_bps == pytest.approx(6e6, rel=TOLERANCE)
    assert held.rate_bps == pytest.approx(2e6, rel=TOLERANCE)


NOT_TODAY = {"days": [DAYS[(date.today().weekday() + 3) % 7]]}
"""Hours of another day, whatever the time zone, and also when midnight comes."""


@pytest.mark.parametrize("closed", [{"disabled": True}, {"time": NOT_TODAY}], ids=["disabled", "hours"])
def test_the_customer_of_a_queue_that_is_disabled_or_outside_its_hours_is_held_by_its_parent(
    router: Router, closed: dict[str, Any]
) -> None:
    """Its own limit is gone; the tower's is what was sold, and holds for all of its customers together."""
    tower = {"id": "tower", "name": "tower", "max_limit_bps": rate(4, 4)}
    child = customer(0, parent="tower", max_limit_bps=rate(2, 2), **closed)
    router.bulk(upsert=[tower, child, customer(1, parent="tower")])
    alone, *both = measure.measure([flow(0, "upload", 8), flow(0, "download", 6), flow(1, "download", 6)])
    assert alone.rate_bps == pytest.approx(4e6, rel=TOLERANCE)
    assert sum(item.rate_bps for item in both) == pytest.approx(4e6, rel=TOTAL_TOLERANCE)
    assert "meanwhile" in router.api.call("GET", "/queues/c0/explain")["compiled"]


def test_explain_agrees_with_the_kernel(router: Router) -> None:
    router.bulk(upsert=[customer(0, max_limit_bps=rate(2, 3))])
    explained = router.api.call("GET", "/queues/c0/explain")
    assert explained["agrees"] is True
    assert all(line["agrees"] for line in explained["lines"])


def test_limits_hold_while_agent_and_api_are_dead_and_after_they_are_back(router: Router) -> None:
    router.bulk(upsert=[customer(0, max_limit_bps=rate(5, 5))])
    download = flow(0, "download", 9)
    with router.dead("agent", "api"):
        (without,) = measure.measure([download])
    (after,) = measure.measure([download])
    assert without.rate_bps == pytest.approx(5 * MEGABIT, rel=TOLERANCE)
    assert after.rate_bps == pytest.approx(5 * MEGABIT, rel=TOLERANCE)
    assert router.api.call("GET", "/queues/c0/explain")["agrees"] is True
