# SPDX-License-Identifier: Apache-2.0
"""Objects from JSON and back: strict, with every error of a document in one `Invalid`.

The JSON form is the API's (docs/reference/model.md). `from_json` accepts exactly what `to_json`
writes, fills in defaults for what is left out, and brings addresses to canonical text. Equal pairs,
ids and types are shared between objects: 100,000 queues hold few distinct ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from weir.fields import INTERFACE_NAMES, OBJECT_IDS, TYPE_NAMES, IdForm
from weir.kinds import DECLARED, KINDS
from weir.model import limits
from weir.model.address import parse_address
from weir.model.fields import Json, read_note
from weir.model.objects import (
    ConfigObject,
    Interface,
    Kind,
    Queue,
    QueueType,
    Vlan,
)
from weir.model.problem import Finding, Invalid
from weir.model.queue_codec import queue_json, queue_stored_json, read_queue
from weir.model.reader import Reader, shown

_ID_FORM: Mapping[Kind, IdForm] = {
    "queue": replace(OBJECT_IDS, assigned="q"),
    "queue-type": TYPE_NAMES,
    "interface": INTERFACE_NAMES,
}


def parse_kind(text: str) -> Kind:
    """Raises `Invalid` that lists the kinds."""
    if text not in KINDS:
        raise Invalid(
            f"there is no kind {shown(text)}; the kinds are {', '.join(KINDS)}", code="unknown-kind"
        )
    return text


def check_id(kind: Kind, object_id: object) -> str:
    """The interned id. Raises `Invalid` that says what an id of this kind may look like."""
    form = id_form(kind)
    if not isinstance(object_id, str) or not form.pattern.fullmatch(object_id):
        raise Invalid(f"id must be {form.wanted}, not {shown(object_id)}", code="bad-id", path=f"{kind}/?/id")
    return sys.intern(object_id)


def id_form(kind: Kind) -> IdForm:
    """What the ids of a kind look like, and whether the router assigns them."""
    return _ID_FORM.get(kind) or DECLARED[kind].ids


def from_json(kind: Kind, data: object, object_id: str | None = None) -> ConfigObject:
    """Build one object. `object_id` (from a URL or a row) must agree with `data["id"]` if both are given.

    Raises `Invalid` whose findings name every field that is wrong, not only the first.
    """
    if not isinstance(data, dict):
        raise Invalid(f"a {kind} must be a JSON object, not {shown(data)}", code="bad-object", path=kind)
    own_id = check_id(kind, data.get("id", object_id))
    if object_id is not None and own_id != object_id:
        raise Invalid(
            f"id {own_id!r} does not agree with {shown(object_id)}",
            code="id-mismatch",
            path=f"{kind}/{own_id}/id",
        )
    findings: list[Finding] = []
    read = _READERS.get(kind) or DECLARED[kind].read
    item = read(Reader(data, kind, own_id, findings))
    if findings:
        raise _invalid(item, findings)
    return item


def _invalid(item: ConfigObject, findings: list[Finding]) -> Invalid:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return Invalid(
        f"{item.kind} {item.id}: {first.message}{more}", code=first.code, path=first.path, findings=findings
    )


def to_json(item: ConfigObject) -> Json:
    """The whole object with its id, defaults included; read-only additions are the API's business."""
    write = _WRITERS.get(item.kind) or DECLARED[item.kind].to_json
    return write(item)


def to_stored_json(item: ConfigObject) -> Json:
    """As `to_json` without the fields that hold their default: what a database row needs."""
    if isinstance(item, Queue):
        return queue_stored_json(item)
    if item.kind in DECLARED:
        return DECLARED[item.kind].to_stored_json(item)
    full, plain = to_json(item), defaults_of(item.kind)
    return {name: value for name, value in full.items() if name == "id" or plain.get(name, full) != value}


def merge_patch(target: object, patch: object) -> object:
    """RFC 7396: null removes a member, objects merge, anything else replaces. Neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def patched(item: ConfigObject, patch: object, read: Callable[..., ConfigObject] = from_json) -> ConfigObject:
    """The object after a merge patch: a removed field takes its default. Raises `Invalid`.

    `read` is called as `from_json` is.
    """
    if not isinstance(patch, dict):
        raise Invalid(f"a patch must be a JSON object, not {shown(patch)}", code="bad-object", path=item.kind)
    return read(item.kind, merge_patch(to_json(item), patch), item.id)


# --- the other kinds ---------------------------------------------------------------------------------------

_QUEUE_TYPE_FIELDS = frozenset(QueueType.__slots__)
_INTERFACE_FIELDS = frozenset(Interface.__slots__)
_VLAN_FIELDS = frozenset(Vlan.__slots__)


def _read_queue_type(reader: Reader) -> QueueType:
    reader.refuse_unknown(_QUEUE_TYPE_FIELDS)
    if "type" not in reader.data:
        reader.error("type", "missing", "must be given")
    options: dict[str, str] = {}
    inner = reader.inner("options")
    if inner is not None:
        if len(inner.data) > limits.MAX_QUEUE_TYPE_OPTIONS:
            reader.error("options", "too-many", f"has more than {limits.MAX_QUEUE_TYPE_OPTIONS} entries")
        else:
            options = {name: _read_option(inner, name) for name in inner.data}
    return QueueType(
        id=reader.id,
        type=reader.one_of("type", "pfifo", limits.QUEUE_TYPE_KINDS),
        options=tuple(sorted(options.items())),
        comment=read_note(reader, "comment"),
    )


def _read_option(inner: Reader, name: str) -> str:
    if not limits.OBJECT_ID.fullmatch(name):
        inner.error(shown(name), "bad-id", f"must be {OBJECT_IDS.wanted}")
    return inner.text(name, "", limits.MAX_NAME_CHARS, limits.CONTROL_CHARACTER)


def _read_interface(reader: Reader) -> Interface:
    reader.refuse_unknown(_INTERFACE_FIELDS)
    return Interface(
        id=reader.id,
        role=reader.one_of("role", "none", ("lan", "wan", "none")),
        addresses=reader.list_of("addresses", limits.MAX_ADDRESSES, parse_address),
        addressing=reader.one_of("addressing", "static", ("static", "dhcp")),
        mtu=reader.optional_integer("mtu", limits.MIN_MTU_BYTES, limits.MAX_MTU_BYTES),
        description=read_note(reader, "description"),
        overhead_bytes=reader.integer(
            "overhead_bytes", 0, limits.MIN_OVERHEAD_BYTES, limits.MAX_OVERHEAD_BYTES
        ),
        shaper=reader.one_of("shaper", "auto", ("auto", "edt", "police", "htb")),
        fast_path=reader.one_of("fast_path", "auto", ("auto", "off")),
        unknown=reader.one_of("unknown", "allow", ("allow", "queue", "drop")),
        reverse_path=reader.one_of("reverse_path", "off", ("off", "loose", "strict")),
        domain=reader.integer("domain", 0, 0, limits.MAX_DOMAIN),
        vlan=_read_vlan(reader),
        vrf=reader.optional_matching("vrf", limits.INTERFACE_ID, INTERFACE_NAMES.wanted),
        vrf_table=reader.optional_integer("vrf_table", 0, limits.MAX_VRF_TABLE),
        disabled=reader.flag("disabled", False),
    )


def _read_vlan(reader: Reader) -> Vlan | None:
    inner = reader.inner("vlan")
    if inner is None:
        return None
    inner.refuse_unknown(_VLAN_FIELDS)
    for name in ("parent", "id"):
        if name not in inner.data:
            inner.error(name, "missing", "must be given")
            return None
    return Vlan(
        parent=inner.matching("parent", "", limits.INTERFACE_ID, INTERFACE_NAMES.wanted),
        id=inner.integer("id", limits.MIN_VLAN_ID, limits.MIN_VLAN_ID, limits.MAX_VLAN_ID),
        protocol=inner.one_of("protocol", "802.1Q", ("802.1Q", "802.1ad")),
    )


def _slots_json(item: ConfigObject) -> Json:
    slots: tuple[str, ...] = type(item).__slots__
    values = {name: getattr(item, name) for name in slots}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _interface_json(item: Interface) -> Json:
    vlan = item.vlan
    tag = None if vlan is None else {"parent": vlan.parent, "id": vlan.id, "protocol": vlan.protocol}
    return {**_slots_json(item), "vlan": tag}


def _queue_type_json(item: QueueType) -> Json:
    return {"id": item.id, "type": item.type, "options": dict(item.options), "comment": item.comment}


_READERS: Mapping[Kind, Callable[[Reader], ConfigObject]] = {
    "queue": read_queue,
    "queue-type": _read_queue_type,
    "interface": _read_interface,
}
_WRITERS: Mapping[Kind, Callable[..., Json]] = {
    "queue": queue_json,
    "queue-type": _queue_type_json,
    "interface": _interface_json,
}
_REQUIRED: Mapping[Kind, Json] = {"queue": {"name": "x"}, "queue-type": {"type": "pfifo"}}
_defaults: dict[Kind, Mapping[str, object]] = {}


def defaults_of(kind: Kind) -> Mapping[str, object]:
    """What holds for each field that is left out, as JSON; required fields have none."""
    if kind in DECLARED:
        return DECLARED[kind].defaults
    if kind not in _defaults:
        required = _REQUIRED.get(kind, {})
        item = from_json(kind, required, "x")
        full = to_json(item)
        _defaults[kind] = {name: full[name] for name in full if name not in required and name != "id"}
    return _defaults[kind]
