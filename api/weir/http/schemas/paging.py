# SPDX-License-Identifier: Apache-2.0
"""Query strings. No list is without a limit, and an unknown parameter is an error."""

from __future__ import annotations

from typing import Any

from marshmallow import fields, post_load

from weir.http.schemas.base import Input, QueryFlag, QueryInteger, Text, one_of
from weir.model.limits import MAX_SEARCH_CHARS

MAX_LIMIT = 1000
_FINDS = "Part of id, name or comment; an address or prefix finds what has a field that covers it."
TOPICS = ("queues", "interfaces", "system", "config", "states", "leases", "findings")
QUEUE_SORTS = (
    "position",
    "name",
    "id",
    "max_limit_upload",
    "max_limit_download",
    "rate_upload",
    "rate_download",
    "drops",
)


class Query(Input):
    """A query string; the view finds None for what was not given and has no default."""

    @post_load
    def complete(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {name: data.get(name) for name in self.fields}


class Page(Query):
    limit = QueryInteger(1, MAX_LIMIT, load_default=100)
    cursor = Text(max_length=512, metadata={"description": "`next_cursor` of the last page."})


class Found(Page):
    """Of the objects of a kind."""

    q = Text(max_length=MAX_SEARCH_CHARS, metadata={"description": _FINDS})


class SearchQuery(Query):
    q = Text(min_length=1, max_length=MAX_SEARCH_CHARS, required=True, metadata={"description": _FINDS})
    limit = QueryInteger(1, 100, load_default=10, metadata={"description": "The most objects of each kind."})
    kind = Text(max_length=63, metadata={"description": "Of this kind only."})
    cursor = Text(
        max_length=512, metadata={"description": "`next_cursor` of a kind's last page; with `kind`."}
    )


class FoundWithState(Found):
    with_ = one_of(
        "state",
        data_key="with",
        metadata={"description": "`state`: what the router learnt about each object, as `states`."},
    )


class Staged(Query):
    candidate = QueryFlag(
        load_default=False,
        metadata={"description": "1: stage the change in your candidate instead of committing it."},
    )


class CommaList(fields.String):
    """`a,b,c`: at most `most` of them, each one of `choices` if there are any."""

    default_error_messages = {  # noqa: RUF012
        "many": "Too many; at most {most}.",
        "choice": "Must be some of: {choices}.",
    }

    def __init__(self, most: int, choices: tuple[str, ...] = (), **kwargs: Any):
        metadata = {"maxLength": 64 * most, **kwargs.pop("metadata", {})}
        if choices:
            one = f"({'|'.join(choices)})?"
            metadata["pattern"] = f"^{one}(,{one})*$"
        super().__init__(metadata=metadata, **kwargs)
        self.most = most
        self.choices = choices

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        parts = [part for part in str(text).split(",") if part]
        if len(parts) > self.most or len(str(text)) > 64 * self.most:
            raise self.make_error("many", most=self.most)
        if self.choices and not set(parts) <= set(self.choices):
            raise self.make_error("choice", choices=", ".join(self.choices))
        return parts


class QueueQuery(Page):
    offset = QueryInteger(0, 10_000_000, metadata={"description": "Instead of a cursor, to jump."})
    sort = one_of(*QUEUE_SORTS, *("-" + key for key in QUEUE_SORTS), load_default="position")
    q = Text(
        max_length=MAX_SEARCH_CHARS,
        metadata={
            "description": "Part of name, comment or id; an address finds the queues that cover it, a prefix "
            "also those inside it."
        },
    )
    parent = Text(max_length=63, metadata={"description": "An id, or `none` for roots."})
    disabled = QueryFlag()
    warnings = QueryFlag(metadata={"description": "1: only queues with findings."})
    ids = CommaList(MAX_LIMIT, metadata={"description": "Only these, comma-separated."})


class StatsQueuesQuery(Query):
    top = QueryInteger(1, MAX_LIMIT, load_default=10)
    by = one_of(
        "rate_download",
        "rate_upload",
        "rate_total",
        "drops",
        "minute_rate_download",
        "minute_rate_upload",
        "load",
        load_default="rate_download",
    )
    ids = CommaList(MAX_LIMIT, metadata={"description": "These instead of the top."})


class HistoryQuery(Query):
    window = one_of("2m", "1h", "24h", "7d", "30d", load_default="1h")


class StreamQuery(Query):
    topics = CommaList(
        8,
        TOPICS,
        metadata={
            "description": "Some of queues, interfaces, system, config, states (default: these), leases, "
            "findings."
        },
    )
    ids = CommaList(MAX_LIMIT, metadata={"description": "Queues to report on."})
    top = QueryInteger(1, MAX_LIMIT, metadata={"description": "Or the top N by download."})
    states = CommaList(
        MAX_LIMIT,
        metadata={
            "description": "What is learnt of these: `kind/id`, or a kind for its first thousand objects."
        },
    )


class AuditQuery(Page):
    q = Text(max_length=255, metadata={"description": "Part of actor, action, subject or source."})
