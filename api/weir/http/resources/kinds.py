# SPDX-License-Identifier: Apache-2.0
"""The operations on a declared kind: the same for every one, with what a kind's own resource adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from flask import Response

from weir.http import bulk, editing
from weir.http.answers import findings_json
from weir.http.configuring import ConfigResource
from weir.http.context import me, service
from weir.http.endpoint import LARGE_BODY_BYTES, READ, SUPPORT, WRITE, SchemaType, answer
from weir.http.rendering import explanation_json, object_json, state_json
from weir.http.schemas import changes, explanation, paging
from weir.http.schemas.kinds import Schemas, schemas_of
from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration
from weir.model import codec
from weir.service import Listing, Stored
from weir.service.plans import PLAN_KIND

Query = dict[str, Any]


def with_warnings(stored: Stored) -> dict[str, Any]:
    """An object as it is answered when its kind adds nothing."""
    return {
        **object_json(stored),
        "warnings": findings_json(service().config.findings(me(), stored.kind, stored.id)),
    }


def resource_of(
    kind: str,
    schemas: Schemas,
    *,
    render: editing.Render = with_warnings,
    says: Mapping[str, str] | None = None,
    views: Mapping[str, Callable[..., Response]] | None = None,
    asks: SchemaType | None = None,
    explains: SchemaType = explanation.Explanation,
) -> ConfigResource:
    """All operations on a kind, by method; that of a list is `LIST`, others are `CREATE`, `BULK`, `EXPLAIN`.

    `says` is the documentation of those that have more to say, `views` those that do something else. Without
    a `create` schema, PUT alone makes objects. A list of its own may take another query, and `EXPLAIN` answer
    in another shape.
    """
    declaration = DECLARED[kind]
    asks = asks or (paging.FoundWithState if declaration.state else paging.Found)
    operations = _Operations(declaration, schemas, render, says or {}, views or {}, asks, explains)
    if declaration.is_single:
        operations.on_the_one()
    else:
        operations.on_the_list()
        operations.on_each()
    return operations.resource


def resources(own: Mapping[str, ConfigResource]) -> tuple[ConfigResource, ...]:
    """Those of all declared kinds, which is the `own` one of a kind whose answers say more."""
    return tuple(own.get(kind) or _resource(declaration) for kind, declaration in DECLARED.items())


@cache
def _resource(declaration: Declaration) -> ConfigResource:
    return resource_of(declaration.kind, schemas_of(declaration.kind))


def page_json(kind: str, query: Query, render: editing.Render) -> dict[str, Any]:
    """A page of the stored objects of a kind, those of an ordered one in their order."""
    order = DECLARED[kind].order
    listing = Listing(
        kind,
        limit=query["limit"],
        cursor=query["cursor"],
        sort="position" if order is not None else "id",
        within=order.within if order is not None else (),
        text=query["q"] or "",
    )
    page = service().config.page(me(), listing)
    return {
        "items": [render(stored) for stored in page.items],
        "next_cursor": page.next_cursor,
        "total": page.total,
        **({"states": _states(kind, page.items, query)} if DECLARED[kind].state else {}),
    }


def _states(kind: str, items: Sequence[Stored], query: Query) -> list[dict[str, Any]] | None:
    if query["with_"] != "state":
        return None
    return [state_json(item) for item in service().states.of(me(), kind, [item.id for item in items])]


class _Operations:
    """Adds the operations of one kind to its resource."""

    def __init__(
        self,
        declaration: Declaration,
        schemas: Schemas,
        render: editing.Render,
        says: Mapping[str, str],
        views: Mapping[str, Callable[..., Response]],
        asks: SchemaType,
        explains: SchemaType,
    ) -> None:
        self.kind = declaration.kind
        self.declaration = declaration
        self.schemas = schemas
        self.render = render
        self.says = says
        self.views = views
        self.asks = asks
        self.explains = explains
        self.one = self.kind.replace("-", "_")
        self.path = f"/{declaration.path}"
        self._scope_of_changes = SUPPORT if declaration.kind == PLAN_KIND else WRITE
        self.resource = ConfigResource(declaration.path, declaration.about)

    def on_the_list(self) -> None:
        plural, shapes = self.declaration.plural, self.schemas

        def list_(query: Query) -> Response:
            return answer(page_json(self.kind, query, self.render))

        names = plural.lower().replace(" ", "_")
        listing = self.resource.operation("GET", self.path, scope=READ, query=self.asks, answers=shapes.page)
        view = self.views.get("LIST", list_)
        listing(_told(view, f"list_{names}", self.says.get("LIST", f"List {plural}")))
        if shapes.create is not None:
            creating = self.resource.writing("POST", self.path, shape=shapes.create, answers=shapes.answer)
            said = self.says.get("CREATE", f"Create {self.declaration.one}")
            creating(_told(self._create, f"create_{self.one}", said))

        def bulk_(body: dict[str, Any], query: Query) -> Response:
            return bulk.perform(self.kind, body, staged=query["candidate"])

        many = self.resource.writing(
            "POST",
            f"{self.path}/bulk",
            shape=shapes.bulk,
            answers=changes.BulkAnswer,
            status=200,
            max_body_bytes=LARGE_BODY_BYTES,
            scope=self._scope_of_changes,
        )
        said = self.says.get("BULK", f"Create, replace and delete many {plural}")
        many(_told(bulk_, f"bulk_{names}", said))

    def _create(self, body: dict[str, Any], query: Query) -> Response:
        object_id = body.pop("id", None)
        if self.declaration.ids.assigned and object_id is None:
            object_id = service().config.new_id(me(), self.kind)
        checked = codec.check_id(self.kind, object_id)
        return editing.create(self.kind, checked, body, self.render, staged=query["candidate"])

    def on_each(self) -> None:
        what, length = self.declaration.one, self.declaration.ids.max_chars
        path = f"{self.path}/<string(maxlength={length}):{self.declaration.argument}>"
        self._add("GET", path, f"Show {what}")
        self._add("PUT", path, f"Create or replace {what}")
        self._add("PATCH", path, f"Change fields of {what} (merge patch)")
        self._add("DELETE", path, f"Delete {what}")
        self._on_explain(f"{path}/explain")
        if self.declaration.order is not None:
            self._on_order(f"{path}/move")
        if self.declaration.state:
            self._on_state(f"{path}/state")

    def _on_order(self, path: str) -> None:
        def move(body: dict[str, Any], query: Query, **ids: str) -> Response:
            return editing.move(self.kind, self._id(ids), body, self.render, staged=query["candidate"])

        moving = self.resource.writing(
            "POST", path, body=changes.PlaceInput, answers=self.schemas.answer, status=200
        )
        moving(_told(move, f"move_{self.one}", f"Move a {self.declaration.singular} in the order"))

    def on_the_one(self) -> None:
        what = f"the {self.declaration.singular}"
        self._add("GET", self.path, f"Show {what}")
        self._add("PUT", self.path, f"Replace {what}")
        self._add("PATCH", self.path, f"Change fields of {what} (merge patch)")
        self._on_explain(f"{self.path}/explain")
        if self.declaration.state:
            self._on_state(f"{self.path}/state")

    def _on_explain(self, path: str) -> None:
        def explain(**ids: str) -> Response:
            object_id = editing.find(self.kind, self._id(ids), staged=False).id
            return answer(explanation_json(object_id, service().config.explain(me(), self.kind, object_id)))

        said = f"Explain {self.declaration.one}: asked, compiled, in the system, and whether they agree"
        asking = self.resource.operation("GET", path, scope=READ, answers=self.explains)
        view = self.views.get("EXPLAIN", explain)
        asking(_told(view, f"explain_{self.one}", self.says.get("EXPLAIN", said)))

    def _on_state(self, path: str) -> None:
        def state(**ids: str) -> Response:
            stored = editing.find(self.kind, self._id(ids), staged=False)
            (found,) = service().states.of(me(), self.kind, [stored.id])
            return answer(state_json(found))

        said = f"What the router learnt about a {self.declaration.singular}"
        asking = self.resource.operation("GET", path, scope=READ, answers=self.schemas.state)
        asking(_told(state, f"get_{self.one}_state", said))

    def _id(self, path: Mapping[str, str]) -> str:
        return self.kind if self.declaration.is_single else path[self.declaration.argument]

    def _add(self, method: str, path: str, summary: str) -> None:
        view = _told(
            self.views.get(method) or self._view(method),
            f"{method.lower()}_{self.one}",
            self.says.get(method, summary),
        )
        shape = {"PUT": self.schemas.input, "PATCH": self.schemas.patch}.get(method)
        if method == "GET":
            self.resource.operation(
                method, path, scope=READ, query=paging.Staged, answers=self.schemas.answer
            )(view)
        elif method == "DELETE":
            self.resource.writing(method, path)(view)
        else:
            writing = self.resource.writing(
                method, path, shape=shape, answers=self.schemas.answer, scope=self._scope_of_changes
            )
            writing(view)

    def _view(self, method: str) -> Callable[..., Response]:
        def get(query: Query, **path: str) -> Response:
            stored = editing.find(self.kind, self._id(path), staged=query["candidate"])
            return answer(self.render(stored), etag=stored.etag)

        def put(body: dict[str, Any], query: Query, **path: str) -> Response:
            return editing.replace(self.kind, self._id(path), body, self.render, staged=query["candidate"])

        def patch(body: dict[str, Any], query: Query, **path: str) -> Response:
            return editing.patch(self.kind, self._id(path), body, self.render, staged=query["candidate"])

        def delete(query: Query, **path: str) -> Response:
            return editing.remove(self.kind, self._id(path), self.render, staged=query["candidate"])

        views: dict[str, Callable[..., Response]] = {"GET": get, "PUT": put, "PATCH": patch, "DELETE": delete}
        return views[method]


def _told(view: Callable[..., Response], name: str, summary: str) -> Callable[..., Response]:
    """A view under the name and with the summary that the documentation shows."""

    def told(*args: Any, **kwargs: Any) -> Response:
        return view(*args, **kwargs)

    told.__name__, told.__doc__ = name, summary
    return told
