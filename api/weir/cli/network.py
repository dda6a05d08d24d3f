# SPDX-License-Identifier: Apache-2.0
"""`weir interface`: the verbs of every kind, for what the kernel has and what is configured alike."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.client import ApiError
from weir.cli.kind_options import given_body
from weir.cli.kinds import Verbs, group_of, patch_body, present, session_now, write
from weir.kinds import interface
from weir.model.overhead import usual_overhead_bytes

Json = dict[str, Any]


_FRAMES = {"vlan": "vlan", "pppoe": "ppp"}
"""What is made with frames of its own, and what the kernel calls it."""


class _Table(click.ParamType):
    """A routing table's number, or `auto` (0): one that goes by the VRF's name."""

    name = "number|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "auto":
            return 0
        if not str(value).isdecimal() or not 1 <= int(value) <= 65535:
            self.fail(f"{value!r} is neither a number from 1 to 65535 nor 'auto'", param, ctx)
        return int(value)


class _Interfaces(Verbs):
    """`set` and `add` configure what the kernel has already, or make a VLAN, a PPPoE session, and so on."""

    def options(self, required: bool = True) -> list[click.Parameter]:
        found = super().options(required)
        table = next(item for item in found if item.name == "vrf_table")
        table.type = _Table()
        return [
            *found,
            click.Option(["--dhcp", "addressing"], flag_value="dhcp", help="The same as --addressing dhcp."),
            click.Option(["--no-dhcp", "addressing"], flag_value="static"),
            click.Option(["--no-vrf"], is_flag=True, help="Take it out of its VRF."),
            click.Option(["--enabled", "disabled"], flag_value=False, help="The same as --no-disabled."),
        ]

    def list(self, words: str | None = None) -> None:
        found = list(session_now().client.pages(self.path, q=words))
        if session_now().json:
            output.show_json({"items": found})
            return
        output.table(
            ("NAME", "ROLE", "VRF", "TYPE", "STATE", "ADDRESSES", "SHAPER", "FAST PATH", "DESCRIPTION"),
            [
                (
                    item["id"],
                    item["role"] if item["configured"] else "-",
                    item["vrf"] or (item["state"] or {}).get("vrf") or "-",
                    item["type"] if item["configured"] else (item["state"] or {}).get("kind") or "-",
                    "missing" if item["state"] is None else "up" if item["state"]["up"] else "down",
                    ",".join(item["addresses"] or (item["state"] or {}).get("addresses", [])),
                    (item["state"] or {}).get("shaper") or "-",
                    (item["state"] or {}).get("fast_path") or "-",
                    item["description"],
                )
                for item in found
            ],
        )

    def show(self, object_id: str = "") -> None:
        output.show_json(session_now().client.get(self._at(object_id)))

    def add(self, candidate: bool, new_id: str | None, no_vrf: bool = False, **given: Any) -> None:
        self._configure(str(new_id), _body((), no_vrf, given), candidate, 0)

    def set(
        self,
        candidate: bool,
        unset: tuple[str, ...],
        object_id: str = "",
        no_vrf: bool = False,
        **given: Any,
    ) -> None:
        body, path = _body(unset, no_vrf, given), self._at(object_id)
        try:
            found = present(session_now(), path, candidate)
        except ApiError as error:
            if error.status != 404:
                raise
            found = {"configured": False}
        if found["configured"]:
            write(session_now(), path, "PATCH", body, candidate, found["etag"])
        else:
            self._configure(object_id, body, candidate, found.get("overhead_bytes", 0))

    def _configure(self, name: str, body: Json, candidate: bool, overhead_bytes: int) -> None:
        made = next((kind for field, kind in _FRAMES.items() if body.get(field)), "")
        usual = usual_overhead_bytes(made) if made else overhead_bytes
        write(session_now(), self._at(name), "PUT", {"overhead_bytes": usual, **body}, candidate, None)


def _body(unset: tuple[str, ...], no_vrf: bool, given: Json) -> Json:
    if no_vrf and given.get("vrf") is not None:
        raise click.UsageError("Give --vrf or --no-vrf, not both.")
    return patch_body((*unset, "vrf") if no_vrf else unset, given_body(given))


def register(main: click.Group) -> None:
    main.add_command(group_of(interface.KIND, _Interfaces(interface.KIND)))
