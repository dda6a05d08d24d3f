# SPDX-License-Identifier: Apache-2.0
"""`weir interface`, `weir queue-type`."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.client import ApiError, segment
from weir.cli.group import Group, Session, pass_session
from weir.cli.kinds import present, write
from weir.model.overhead import usual_overhead_bytes

Json = dict[str, Any]
candidate_option = click.option("--candidate", is_flag=True, help="Stage it in your candidate.")


class _Table(click.ParamType):
    """A routing table's number, or `auto` (0): one that goes by the VRF's name."""

    name = "number|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "auto":
            return 0
        if not str(value).isdecimal() or not 1 <= int(value) <= 65535:
            self.fail(f"{value!r} is neither a number from 1 to 65535 nor 'auto'", param, ctx)
        return int(value)


TABLE = _Table()


@click.group("interface", cls=Group)
def interface() -> None:
    """Interfaces: role, addresses, shaper."""


@interface.command("list")
@pass_session
def list_interfaces(session: Session) -> None:
    """List interfaces."""
    found = list(session.client.pages("/interfaces"))
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("NAME", "ROLE", "VRF", "STATE", "ADDRESSES", "SHAPER", "FAST PATH", "DESCRIPTION"),
        [
            (
                item["id"],
                item["role"] if item["configured"] else "-",
                item["vrf"] or (item["state"] or {}).get("vrf") or "-",
                "missing" if item["state"] is None else "up" if item["state"]["up"] else "down",
                ",".join(item["addresses"] or (item["state"] or {}).get("addresses", [])),
                (item["state"] or {}).get("shaper") or "-",
                (item["state"] or {}).get("fast_path") or "-",
                item["description"],
            )
            for item in found
        ],
    )


@interface.command("show")
@click.argument("name")
@pass_session
def show_interface(session: Session, name: str) -> None:
    """Show an interface."""
    output.show_json(session.client.get(f"/interfaces/{segment(name)}"))


@interface.command("set")
@click.argument("name")
@click.option("--role", type=click.Choice(("lan", "wan", "none")))
@click.option("--address", "addresses", multiple=True, help="ADDRESS/LENGTH; replaces all; may be repeated.")
@click.option(
    "--dhcp", "addressing", flag_value="dhcp", default=None, help="IPv4 address and routes by DHCP."
)
@click.option("--no-dhcp", "addressing", flag_value="static")
@click.option("--mtu", type=int)
@click.option("--description")
@click.option("--overhead-bytes", type=int)
@click.option("--shaper", type=click.Choice(("auto", "edt", "police", "htb")))
@click.option("--fast-path", type=click.Choice(("auto", "off")))
@click.option(
    "--unknown",
    type=click.Choice(("allow", "queue", "drop")),
    help="What becomes of forwarded packets that are in no queue.",
)
@click.option(
    "--reverse-path",
    type=click.Choice(("off", "loose", "strict")),
    help="Drop sources without a way back, or (strict) with one by another interface.",
)
@click.option("--domain", type=int, help="Targets like 10.0.0.0/24@2 hold in domain 2 only.")
@click.option("--vlan-parent", help="Make it a VLAN of this interface.")
@click.option("--vlan-id", type=click.IntRange(1, 4094), help="The VLAN's tag.")
@click.option("--vlan-protocol", type=click.Choice(("802.1Q", "802.1ad")))
@click.option("--vrf", help="Put it into this VRF.")
@click.option("--no-vrf", is_flag=True, help="Take it out of its VRF.")
@click.option(
    "--vrf-table", type=TABLE, help="Make it a VRF with this routing table, or (auto) one by its name."
)
@click.option("--disabled/--enabled", default=None)
@candidate_option
@pass_session
def set_interface(session: Session, /, name: str, candidate: bool, **given: Any) -> None:
    """Configure an interface, or make a VLAN or a VRF.

    weir interface set vlan100 --vlan-parent eth1 --vlan-id 100

    weir interface set blue --vrf-table auto, then weir interface set vlan100 --vrf blue
    """
    leaves_vrf = given.pop("no_vrf")
    if leaves_vrf and given["vrf"] is not None:
        raise click.UsageError("Give --vrf or --no-vrf, not both.")
    body = {field: value for field, value in given.items() if value not in (None, ())}
    if leaves_vrf:
        body["vrf"] = None
    vlan = {part: body.pop(f"vlan_{part}") for part in ("parent", "id", "protocol") if f"vlan_{part}" in body}
    if vlan:
        body["vlan"] = vlan
    if "addresses" in body:
        body["addresses"] = list(body["addresses"])
    path = f"/interfaces/{segment(name)}"
    try:
        found = present(session, path, candidate)
    except ApiError as error:
        if error.status != 404:
            raise
        found = {"configured": False}
    if found["configured"]:
        write(session, path, "PATCH", body, candidate, found["etag"])
    else:
        usual = usual_overhead_bytes("vlan") if vlan else found.get("overhead_bytes", 0)
        write(session, path, "PUT", {"overhead_bytes": usual, **body}, candidate, None)


@interface.command("rm")
@click.argument("name")
@candidate_option
@pass_session
def remove_interface(session: Session, name: str, candidate: bool) -> None:
    """Remove an interface from the configuration."""
    path = f"/interfaces/{segment(name)}"
    write(session, path, "DELETE", None, candidate, present(session, path, candidate)["etag"])


@click.group("queue-type", cls=Group)
def queue_type() -> None:
    """Queue types."""


@queue_type.command("list")
@pass_session
def list_queue_types(session: Session) -> None:
    """List queue types."""
    found = list(session.client.pages("/queue-types"))
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("NAME", "TYPE", "OPTIONS", "USED BY"),
        [
            (
                item["id"],
                item["type"],
                " ".join(f"{name}={value}" for name, value in item["options"].items()),
                str(item["used_by"]),
            )
            for item in found
        ],
        right=(3,),
    )


def register(main: click.Group) -> None:
    for group in (interface, queue_type):
        main.add_command(group)
