# SPDX-License-Identifier: Apache-2.0
"""One `/queue simple add` command as a draft of a queue.

Properties: RouterOS v7 manual, queues; the names of v3 to v5 (`target-addresses`, `dst-address`, `interface`,
`direction`). A value that cannot be read leaves the queue out: a limit that is guessed is worse than a
queue that is missing and named in the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from weir.formats.draft import Draft, clean_comment, clean_name, distinct_targets, read_prefix, read_target
from weir.formats.quantity import truth
from weir.formats.report import LineDraft, quoted
from weir.formats.routeros.total import read_total
from weir.formats.routeros.values import priorities, rates_bps, times_ms, type_names, window
from weir.model.limits import INTERFACE_ID, MAX_BUCKET_SIZE_MS, MAX_BURST_TIME_MS
from weir.model.objects import ZERO, Pair
from weir.model.pair import shared_pair
from weir.model.prefix import looks_like_prefix
from weir.model.problem import Invalid
from weir.model.schedule import ALWAYS

RateField = Literal["max_limit_bps", "limit_at_bps", "burst_limit_bps", "burst_threshold_bps"]

# Read elsewhere, or without a meaning for the import.
_SILENT = frozenset({"name", "place-before", "direction", "interface", "dynamic", "invalid"})
_NO_VALUE = frozenset({"", "none"})
_EVERYTHING = "0.0.0.0/0"
_RATE_FIELDS: tuple[RateField, ...] = (
    "max_limit_bps",
    "limit_at_bps",
    "burst_limit_bps",
    "burst_threshold_bps",
)
_MARKS = frozenset({"", "no-mark"})

Handler = Callable[[Draft, str, str], None]


def read_queue(name: str, properties: Mapping[str, str], line: LineDraft) -> Draft:
    """Raises `ValueError` with the sentence for the report when a value cannot be read."""
    draft = Draft(line, clean_name(name, line))
    for key, value in properties.items():
        handler = _HANDLERS.get(key)
        if handler is not None:
            try:
                handler(draft, key, value)
            except Invalid as problem:
                raise ValueError(f"{key}: {problem.message}.") from problem
            except ValueError as error:
                raise ValueError(f"{key}={quoted(value)}: {error}.") from error
        elif key.startswith("total-"):
            continue
        elif key not in _SILENT:
            line.note("warning", "unknown-property", f"{key} is not known and was left off.")
    if "interface" in properties:
        _interface_of_v3(draft, properties["interface"])
    if "direction" in properties:
        _direction_of_v3(draft, properties["direction"])
    read_total(draft, properties)
    return draft


def _rates(field: RateField) -> Handler:
    def handle(draft: Draft, key: str, value: str) -> None:
        if value == "":
            draft.line.note("warning", "empty-value", f"{key} is empty: taken as 0 (no limit).")
            return
        pair, single, low = rates_bps(value)
        draft.values[field] = pair
        if single and pair != ZERO:
            draft.line.note("changed", "single-value", f"{key}={value} counts for upload and for download.")
        if low:
            draft.line.note(
                "warning", "low-rate", f"{key}={value}: a bare number is in bit/s. Was a k or M forgotten?"
            )

    return handle


def _burst_time(draft: Draft, key: str, value: str) -> None:
    draft.values["burst_time_ms"] = _bounded(times_ms(value or "0"), MAX_BURST_TIME_MS, "a day")


def _bucket_size(draft: Draft, key: str, value: str) -> None:
    draft.values["bucket_size_ms"] = _bounded(times_ms(value), MAX_BUCKET_SIZE_MS, "10 s")


def _bounded(pair: Pair[int], highest: int, words: str) -> Pair[int]:
    if max(pair.upload, pair.download) > highest:
        raise ValueError(f"at most {words}")
    return pair


def _priority(draft: Draft, key: str, value: str) -> None:
    draft.values["priority"] = priorities(value)


def _queue_type(draft: Draft, key: str, value: str) -> None:
    draft.values["queue_type"] = type_names(value)


def _comment(draft: Draft, key: str, value: str) -> None:
    draft.values["comment"] = clean_comment(value, draft.line)


def _disabled(draft: Draft, key: str, value: str) -> None:
    draft.values["disabled"] = truth(value) or draft.values.get("disabled", False)


def _parent(draft: Draft, key: str, value: str) -> None:
    if value not in _NO_VALUE:
        draft.parent_name = clean_name(value, draft.line)


def _target(draft: Draft, key: str, value: str) -> None:
    targets: list[str] = []
    for raw in value.split(","):
        text = raw.strip()
        if not text:
            continue
        if looks_like_prefix(text) and not text.startswith("<"):
            targets.append(read_target(text, draft.line))
        elif INTERFACE_ID.fullmatch(text):
            targets.append(text)
        else:
            draft.unmatchable = True
            draft.line.note(
                "warning",
                "interface-name",
                f"{quoted(text)} is neither a prefix nor a possible interface name here: left off.",
            )
    draft.values["target"] = distinct_targets([*draft.values.get("target", ()), *targets], draft.line)


def _dst(draft: Draft, key: str, value: str) -> None:
    text = value.strip()
    if text == _EVERYTHING and key == "dst":
        why = "dst=0.0.0.0/0 is any destination, as none is: imported without one."
        draft.line.note("changed", "any-destination", why)
    if text in ("", _EVERYTHING):
        return
    if looks_like_prefix(text):
        draft.values["dst"] = read_prefix(text, draft.line)
    elif INTERFACE_ID.fullmatch(text):
        draft.values["dst"] = text
    else:
        _switch_off(draft, "destination", f"The destination {quoted(text)} cannot exist here")


def _marks(draft: Draft, key: str, value: str) -> None:
    if value not in _MARKS:
        _switch_off(draft, "packet-marks", f"{key}={quoted(value)}: Weir does not select packets by mark")


def _p2p(draft: Draft, key: str, value: str) -> None:
    if value not in _NO_VALUE:
        _switch_off(draft, "p2p", f"p2p={quoted(value)}: Weir does not select packets by application")


def _switch_off(draft: Draft, code: str, why: str) -> None:
    draft.values["disabled"] = True
    draft.line.note("warning", code, f"{why}, so the queue is imported disabled.")


def _time(draft: Draft, key: str, value: str) -> None:
    if value == "":
        return
    read = window(value)
    if read.over_midnight:
        _switch_off(
            draft,
            "over-midnight",
            "The window ends on the next day, which takes two queues (one to midnight, one from midnight)",
        )
        return
    if read.rounded:
        draft.line.note("changed", "time-rounded", "The window was widened to whole minutes.")
    draft.values["time"] = None if read.window == ALWAYS else read.window


def _interface_of_v3(draft: Draft, value: str) -> None:
    """v3 to v5: the queue sees the traffic of its addresses on this interface only."""
    if value in ("all", ""):
        return
    if draft.values.get("target") == (_EVERYTHING,):
        draft.values["target"] = ()
    if draft.values.get("target"):
        draft.line.note(
            "warning",
            "interface-and-address",
            f"interface={quoted(value)} narrowed the addresses down; Weir matches them on every interface.",
        )
    else:
        _target(draft, "target", value)


def _direction_of_v3(draft: Draft, value: str) -> None:
    """v3 to v5: `direction=upload` leaves download without a limit."""
    keep = {"both": (1, 1), "": (1, 1), "upload": (1, 0), "download": (0, 1), "none": (0, 0)}.get(value)
    if keep is None:
        raise ValueError(f"direction={quoted(value)}: expected both, upload, download or none.")
    if keep == (1, 1):
        return
    for field in _RATE_FIELDS:
        pair = draft.values.get(field, ZERO)
        draft.values[field] = shared_pair(pair.upload * keep[0], pair.download * keep[1])
    free = "neither direction has a limit" if value == "none" else "the other direction has no limit"
    draft.line.note("changed", "direction", f"direction={value}: {free}.")


_HANDLERS: dict[str, Handler] = {
    "target": _target,
    "target-addresses": _target,
    "target-address": _target,
    "dst": _dst,
    "dst-address": _dst,
    "parent": _parent,
    "max-limit": _rates("max_limit_bps"),
    "limit-at": _rates("limit_at_bps"),
    "burst-limit": _rates("burst_limit_bps"),
    "burst-threshold": _rates("burst_threshold_bps"),
    "burst-time": _burst_time,
    "bucket-size": _bucket_size,
    "priority": _priority,
    "queue": _queue_type,
    "time": _time,
    "packet-marks": _marks,
    "packet-mark": _marks,
    "p2p": _p2p,
    "comment": _comment,
    "disabled": _disabled,
}
