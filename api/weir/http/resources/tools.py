# SPDX-License-Identifier: Apache-2.0
"""Tools for those who look for a fault: an operation for each, whose answer is what the run says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response, request

from weir.http.answers import moment
from weir.http.context import me, service
from weir.http.endpoint import READ, SUPPORT, Resource, answer
from weir.http.running import RunStream
from weir.http.schemas import tools
from weir.http.schemas.kinds import group_input
from weir.http.serving import STREAM
from weir.tools import EVERY, TOOLS, Tool
from weir.tools.tool import LINES

BODY_BYTES = 4096
"""All arguments of a tool together are shorter."""
BYTES = {"type": "string", "format": "binary"}
TEXT = {"type": "string"}
resource = Resource("tools", "Ping, mtr and others, run on the router; one of each at a time.")


@resource.operation("GET", "/tools", scope=READ, answers=tools.ToolsAnswer)
def list_tools() -> Response:
    """What can be run, and what runs now"""
    running = {run["tool"]: run for run in service().tools.running(me())}
    return answer({"items": [_item(tool, running.get(tool.name)) for tool in EVERY.values()]})


@resource.operation(
    "DELETE", "/tools/runs/<string(maxlength=32):run_id>", scope=SUPPORT, answers=tools.ToolRun
)
def stop_tool(run_id: str) -> Response:
    """End a run that is under way, also of somebody else

    One's own ends when its answer is not read any more.
    """
    return answer(_run(service().tools.stop(me(), run_id)))


def _item(tool: Tool, run: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "about": tool.about,
        "scope": tool.scope,
        "needs": tool.needs,
        "answers": tool.answers,
        "running": None if run is None else _run(run),
    }


def _run(run: dict[str, Any]) -> dict[str, Any]:
    return {**run, "started_at": moment(run["started_at"])}


def _view(tool: Tool) -> Callable[..., Response]:
    def start(body: dict[str, Any]) -> Response:
        run = service().tools.start(me(), tool, body)
        stream = RunStream(run)
        request.environ[STREAM] = stream
        response = Response(stream, mimetype=tool.answers)
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Accel-Buffering"] = "no"
        if run.note:
            response.headers["X-Tool-Note"] = run.note
        return response

    start.__name__ = tool.operation
    start.__doc__ = f"{tool.title}\n\n{_documentation(tool)}"
    return start


def _documentation(tool: Tool) -> str:
    if tool.answers == LINES:
        events = "; ".join(f"`{event}`: {', '.join(names)}" for event, names in tool.columns.items())
        end = "The last one is `end`: reason (done, stopped, failed, lost), message."
        output = f"Server-sent events. {events}. {end}"
    else:
        output = (
            "The header `X-Tool-Note` says what cannot be in it. One that cannot begin is refused with the "
            "reason (503 `tool-failed`); one that is cut short ends the connection without a last chunk."
        )
    busy = "It ends with the connection. While somebody else's runs it is refused (409 `tool-busy`)."
    return f"{tool.about} {output} {busy}"


for _tool in TOOLS.values():
    resource.operation(
        "POST",
        f"/tools/{_tool.name}",
        scope=_tool.scope,
        shape=group_input(_tool.group),
        media={_tool.answers: TEXT if _tool.answers == LINES else BYTES},
        max_body_bytes=BODY_BYTES,
        streams=True,
    )(_view(_tool))
