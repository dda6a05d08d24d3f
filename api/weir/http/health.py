# SPDX-License-Identifier: Apache-2.0
"""The router's health in one answer: what is well, what is not, and what to do about it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import weir
from weir.accounts.principal import Principal
from weir.http.context import Context
from weir.http.rendering import drift_json
from weir.model.problem import Unavailable
from weir.service import Listing
from weir.wire.agent_states import meaning

Json = dict[str, Any]
MAX_LISTED = 1000
STATUS_TIMEOUT_S = 2.0


def system_json(context: Context, by: Principal) -> Json:
    """The body of `GET /system`."""
    router = context.stats.router
    status = _status(context, by)
    system = router.system_answer
    found = _configuration(context, by)
    checks = [
        *_writing_checks(context, by),
        *_agent_checks(context, by, status, found["revision"]),
        *_data_checks(status),
        *connection_checks(status.get("connections")),
        *_shaping_checks(status, found["warning_count"] or 0),
    ]
    states = {check["state"] for check in checks}
    return {
        "version": weir.__version__,
        "hostname": system.get("hostname"),
        "kernel": system.get("kernel") or status.get("kernel"),
        "uptime_s": system.get("uptime_s"),
        "health": "failed" if "failed" in states else "warning" if "warning" in states else "ok",
        "checks": checks,
        "agent": _agent(context, status),
        **found,
        "capabilities": [
            {"id": str(item["id"]), "available": bool(item["available"]), "reason": item.get("reason")}
            for item in status.get("capabilities", ())[:MAX_LISTED]
        ],
        "shapers": [
            {
                "interface": name,
                "mode": str(item["mode"]),
                "reason": item.get("reason"),
                "fast_path": bool(item.get("fast_path")),
                "fast_path_reason": item.get("fast_path_reason") or None,
            }
            for name, item in sorted(status.get("shapers", {}).items())[:MAX_LISTED]
        ],
        "drift": [drift_json(item) for item in status.get("drift", ())[:MAX_LISTED]],
    }


def _configuration(context: Context, by: Principal) -> Json:
    """What is counted in the configuration; null while it cannot be read."""
    config = context.service.config
    found: Json = {"revision": None, "queue_count": None, "warning_count": None}
    with suppress(Unavailable):
        found["revision"] = config.revision(by)
        found["queue_count"] = config.page(by, Listing("queue", limit=1)).total
        found["warning_count"] = _warning_count(context, by)
    return found


def _warning_count(context: Context, by: Principal) -> int:
    """How many queues have findings; counted once per revision."""
    revision = context.service.config.revision(by)
    counted = context.warned.get(revision)
    if counted is None:
        counted = len(context.service.config.warned_ids(by))
        context.warned.clear()
        context.warned[revision] = counted
    return counted


def _agent(context: Context, status: Json) -> Json:
    router = context.stats.router
    if router.lost_at is not None or router.status is None:
        return {
            "connected": False,
            "state": "down",
            "version": status.get("version"),
            "revision": status.get("revision"),
            "since": router.lost_at,
        }
    return {
        "connected": True,
        "state": status.get("state", "ok"),
        "version": status.get("version"),
        "revision": status.get("revision"),
        "since": status["started_at"] / 1000 if status.get("started_at") else None,
    }


def _check(name: str, state: str, message: str) -> Json:
    return {"id": name, "state": state, "message": message}


def _status(context: Context, by: Principal) -> Json:
    """What the agent said within the last second; asked again when a change has been made since."""
    status: Json = context.stats.router.status or {}
    try:
        behind = status.get("revision") != context.service.config.revision(by)
    except Unavailable:
        behind = False
    if context.stats.router.lost_at is None and (behind or status.get("state") == "applying"):
        with suppress(Unavailable):
            return context.service.agent.call("status", timeout_s=STATUS_TIMEOUT_S)
    return status


def _agent_checks(context: Context, by: Principal, status: Json, head: int | None) -> list[Json]:
    router = context.stats.router
    if router.lost_at is not None or router.status is None:
        reason = router.lost_reason or "the agent was not asked yet"
        message = f"{reason[:1].upper()}{reason[1:]}. Forwarding and shaping go on."
        return [_check("agent", "failed", message), *_store_checks(context, by, {})]
    state = str(status.get("state", "ok"))
    checks = [_check("agent", *meaning(state)), *_store_checks(context, by, status)]
    if status.get("revision") == head:
        checks.append(_check("revision", "ok", f"The kernel runs revision {head}."))
    elif head is None:
        message = f"The kernel runs revision {status.get('revision')}; the configuration cannot be read."
        checks.append(_check("revision", "failed", message))
    else:
        checks.append(_check("revision", "warning", _difference(status, head)))
    return checks


def _difference(status: Json, head: int) -> str:
    running, confirm = status.get("revision"), status.get("confirm") or {}
    if confirm.get("undone"):
        return (
            f"Revision {confirm.get('revision')} was not confirmed in time: the kernel runs revision "
            f"{running} again. The configuration follows as soon as it can be written."
        )
    return f"The kernel runs revision {running}, the configuration is at {head}."


def _writing_checks(context: Context, by: Principal) -> list[Json]:
    """Why changes are refused, whatever they are."""
    refused = context.service.stored.refused(by)
    if not refused:
        return []
    return [_check("writing", "failed", f"Changes are refused, and all else goes on. {'. '.join(refused)}.")]


def _store_checks(context: Context, by: Principal, status: Json) -> list[Json]:
    """The database: whether the router follows it, and what is damaged in it."""
    store = status.get("store") or {}
    if store.get("reason") and status.get("state") == "held":
        reason = str(store["reason"])
        return [_check("store", "failed", f"{reason[:1].upper()}{reason[1:]}. See `weir store`.")]
    told = [str(item.get("message")) for item in store.get("damaged") or ()]
    stored = context.service.stored
    damaged = list(dict.fromkeys([*told, *(item.message for item in stored.damaged(by))]))
    if damaged:
        more = f", and {len(damaged) - 3} more" if len(damaged) > 3 else ""
        message = f"{'; '.join(damaged[:3])}{more}. {_RESTORE if stored.lacks(by) else _NOTHING_LOST}"
        return [_check("store", "failed", f"{message[:1].upper()}{message[1:]}")]
    return []


_RESTORE = "`weir store restore` writes what runs in the place of what the newest revision lacks."
_NOTHING_LOST = (
    "What the router runs was read whole, so `weir store restore` has nothing to write. Take a backup: the "
    "disk may be failing."
)
_DATA_STATES = {"ok": "ok", "reset": "ok", "repaired": "warning", "full": "warning"}


def _data_checks(status: Json) -> list[Json]:
    """Where the router keeps its configuration; a system without a partition of its own says nothing."""
    found = status.get("data")
    if not isinstance(found, dict):
        return []
    message = str(found.get("message", ""))
    sentence = f"{message[:1].upper()}{message[1:]}."
    return [_check("data", _DATA_STATES.get(str(found.get("state")), "failed"), sentence)]


def connection_checks(found: Json | None) -> list[Json]:
    """The table of tracked connections; a router that tracks none says nothing."""
    if not isinstance(found, dict):
        return []
    used = f"{found['count']:,} of {found['max']:,} tracked connections are in use"
    wrong = []
    if found["much"]:
        most = ", ".join(f"{item['source']} ({item['count']:,})" for item in found["holders"])
        wrong.append(f"most have {most}" if most else "who has most is being counted")
    if found["refused"]:
        names = ", ".join(f"{item['source']} ({item['interface']})" for item in found["refused"])
        wrong.append(
            f"in the last hour {names} had as many as `connections_per_source` of the firewall allows, "
            "and new ones were dropped"
        )
    if found["uncounted_reason"]:
        wrong.append(f"`connections_per_source` is not kept: {found['uncounted_reason'].rstrip('.')}")
    wrong += (reason.rstrip(".") for reason in found["missing_helpers"])
    if found["fault"]:
        wrong.append(f"they were not looked at: {found['fault'].rstrip('.')}")
    return [_check("connections", "warning" if wrong else "ok", "; ".join([used, *wrong]) + ".")]


def _shaping_checks(status: Json, warned: int) -> list[Json]:
    checks = []
    fallbacks = sorted(
        name
        for name, item in status.get("shapers", {}).items()
        if item.get("mode") in ("police", "none") and item.get("reason")
    )
    if fallbacks:
        names = ", ".join(fallbacks[:5])
        reasons = sorted({status["shapers"][name]["reason"].rstrip(".") for name in fallbacks})
        message = f"{names}: {'; '.join(reasons[:3])}."
        checks.append(_check("shapers", "warning", message))
    elif status:
        checks.append(_check("shapers", "ok", "Every shaped interface uses the method it was asked for."))
    if warned:
        noun = "object has" if warned == 1 else "objects have"
        checks.append(_check("warnings", "warning", f"{warned} {noun} warnings."))
    return checks
