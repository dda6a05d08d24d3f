# SPDX-License-Identifier: Apache-2.0
"""Operations that change configured objects: each may be staged in the caller's candidate instead."""

from __future__ import annotations

from collections.abc import Callable

from weir.http.endpoint import JSON_BODY_BYTES, WRITE, Resource, SchemaType, View
from weir.http.schemas import changes, paging

STAGED = {202: ("Staged in your candidate", changes.StagedAnswer)}
_STATUS = {"POST": 201, "DELETE": 204}


class ConfigResource(Resource):
    """An resource whose writes take `?candidate=1`; replacing, changing and deleting take If-Match."""

    def writing(
        self,
        method: str,
        rule: str,
        *,
        answers: SchemaType | None = None,
        status: int | None = None,
        shape: SchemaType | None = None,
        body: SchemaType | None = None,
        max_body_bytes: int = JSON_BODY_BYTES,
        scope: str = WRITE,
    ) -> Callable[[View], View]:
        """As `operation`, with what all such writes have in common. A PUT may also create."""
        created = {201: ("Created", answers)} if method == "PUT" else {}
        return self.operation(
            method,
            rule,
            scope=scope,
            answers=answers,
            status=_STATUS.get(method, 200) if status is None else status,
            shape=shape,
            body=body,
            query=paging.Staged,
            precondition=method != "POST",
            also={**created, **STAGED},
            max_body_bytes=max_body_bytes,
        )
