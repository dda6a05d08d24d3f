# SPDX-License-Identifier: Apache-2.0
"""Pages of queues sorted by a live figure: the busy ones by rank, the idle ones by position.

Figures change each second, so there is no order that a cursor could hold on to: the cursor is the
offset, and a queue may move between two pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from weir.http.answers import read_number
from weir.http.context import context, me, service
from weir.service import Listing, Page, Stored

LIVE_SORTS = frozenset({"rate_upload", "rate_download", "drops"})
MAX_RANKED = 2000


def is_live(sort: str) -> bool:
    return sort.lstrip("-") in LIVE_SORTS


def live_page(listing: Listing, query: Mapping[str, Any]) -> Page:
    """A page of what `listing` filters, in the order of `query["sort"]`."""
    key, descending = query["sort"].lstrip("-"), query["sort"].startswith("-")
    start = query["offset"] or read_number(query["cursor"]) or 0
    busy = _matching(listing, context().stats.ranking(key, MAX_RANKED))
    total = service().config.page(me(), replace(listing, limit=1)).total
    idle = replace(listing, without_ids=[*listing.without_ids, *busy], counted=False)
    limit = query["limit"]
    if descending:
        items = _stored(busy[start : start + limit])
        items += _idle(idle, max(start - len(busy), 0), limit - len(items))
    else:
        idle_total = total - len(busy)
        items = _idle(idle, start, min(limit, max(idle_total - start, 0)))
        first = max(start - idle_total, 0)
        items += _stored(busy[::-1][first : first + limit - len(items)])
    more = start + limit < total
    return Page(items=items, next_cursor=str(start + limit) if more else None, total=total)


def _matching(listing: Listing, ranked: Sequence[str]) -> list[str]:
    """Those of the ranked queues that the filter lets through, in the order of the ranking."""
    if listing.ids is not None:
        wanted = set(listing.ids)
        ranked = [queue_id for queue_id in ranked if queue_id in wanted]
    found = service().config.matching(me(), replace(listing, ids=ranked)) if ranked else set()
    return [queue_id for queue_id in ranked if queue_id in found]


def _stored(ids: Sequence[str]) -> list[Stored]:
    return service().config.get_many(me(), "queue", ids) if ids else []


def _idle(listing: Listing, start: int, count: int) -> list[Stored]:
    if count <= 0:
        return []
    return service().config.page(me(), replace(listing, offset=start, limit=count)).items
