# SPDX-License-Identifier: Apache-2.0
"""Reading request bodies and query strings: strict JSON, and every failure a Problem."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

import marshmallow as ma
from flask import Request
from webargs.flaskparser import FlaskParser

from weir.http.problems import BadRequest, InvalidRequest

MAX_DEPTH_MESSAGE = "The body is nested too deeply."


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """RFC 8259 leaves open which of two values of a name counts: the sender meant something else."""
    found = dict(pairs)
    if len(found) != len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name, count in times.items() if count > 1)
        raise BadRequest(f"The body gives {twice!r} twice in one object.", code="bad-json")
    return found


def read_json(raw: bytes) -> Any:
    """Parse RFC 8259 JSON. Raises BadRequest that says where the syntax error is."""
    try:
        return json.loads(
            raw.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_refuse_repetition
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise BadRequest(f"The body is not JSON: {error.msg} at {where}.", code="bad-json") from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"The body is not UTF-8 at byte {error.start}.", code="bad-json") from error
    except RecursionError as error:
        raise BadRequest(MAX_DEPTH_MESSAGE, code="bad-json") from error
    except ValueError as error:
        raise BadRequest(f"The body is not JSON: {error}.", code="bad-json") from error


def read_object(raw: bytes) -> dict[str, Any]:
    """A request body that must be a JSON object. Raises BadRequest or Invalid."""
    if not raw.strip():
        raise BadRequest("The request needs a body: a JSON object.", code="bad-json")
    found = read_json(raw)
    if not isinstance(found, dict):
        raise InvalidRequest("The body must be a JSON object.", code="invalid-request")
    return found


class BodyParser(FlaskParser):
    """webargs with our JSON reader, unknown parameters refused, and our errors."""

    DEFAULT_UNKNOWN_BY_LOCATION = {"json": None, "query": ma.RAISE}  # noqa: RUF012

    def load_json(self, req: Request, schema: ma.Schema) -> Any:
        return read_object(req.get_data(cache=True))

    def load_querystring(self, req: Request, schema: ma.Schema) -> Any:
        for name, values in req.args.lists():
            if len(values) > 1:
                message = f"{name} is given {len(values)} times."
                raise InvalidRequest(message, code="invalid-request", path=name)
        return super().load_querystring(req, schema)

    def handle_error(
        self,
        error: ma.ValidationError,
        req: Request,
        schema: ma.Schema,
        *,
        error_status_code: int | None,
        error_headers: Any,
    ) -> NoReturn:
        raise InvalidRequest.of(error.messages) from error
