# SPDX-License-Identifier: Apache-2.0
"""`weir interface`, `weir route`, `weir firewall`, `weir queue-type`."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.client import ApiError, segment
from weir.cli.group import Group, Session, pass_session
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


def _write(
    session: Session, path: str, method: str, body: Json | None, candidate: bool, etag: str | None
) -> None:
    params = {"candidate": "1"} if candidate else {}
    answer = session.client.write(method, path, body, etag=etag, params=params)
    if session.json:
        output.show_json(answer)
    elif "candidate" in answer:
        output.staged(answer)
    else:
        click.echo("Done.")
        output.findings(answer.get("warnings", ()))


def _present(session: Session, path: str, candidate: bool) -> Json:
    return session.client.get(path, candidate="1" if candidate else None)


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
        present = _present(session, path, candidate)
    except ApiError as error:
        if error.status != 404:
            raise
        present = {"configured": False}
    if present["configured"]:
        _write(session, path, "PATCH", body, candidate, present["etag"])
    else:
        usual = usual_overhead_bytes("vlan") if vlan else present.get("overhead_bytes", 0)
        _write(session, path, "PUT", {"overhead_bytes": usual, **body}, candidate, None)


@interface.command("rm")
@click.argument("name")
@candidate_option
@pass_session
def remove_interface(session: Session, name: str, candidate: bool) -> None:
    """Remove an interface from the configuration."""
    path = f"/interfaces/{segment(name)}"
    _write(session, path, "DELETE", None, candidate, _present(session, path, candidate)["etag"])


@click.group("route", cls=Group)
def route() -> None:
    """Static routes."""


@route.command("list")
@pass_session
def list_routes(session: Session) -> None:
    """List static routes."""
    found = list(session.client.pages("/static-routes"))
    if session.json:
        output.show_json({"items": found})
        return
    output.table(
        ("ID", "VRF", "DESTINATION", "VIA", "DISTANCE", "COMMENT"),
        [
            (
                item["id"],
                item["vrf"] or "-",
                item["destination"],
                _via(item),
                str(item["distance"]),
                item["comment"],
            )
            for item in found
        ],
        right=(4,),
    )


def _via(item: Json) -> str:
    if item["blackhole"]:
        return "blackhole"
    return " ".join(part for part in (item["gateway"], item["interface"]) if part)


@route.command("add")
@click.argument("destination")
@click.option("--via", "gateway", help="The gateway's address.")
@click.option("--interface")
@click.option("--blackhole", is_flag=True)
@click.option("--distance", type=click.IntRange(1, 255), default=1)
@click.option("--vrf", help="The VRF whose route it is.")
@click.option("--comment", default="")
@candidate_option
@pass_session
def add_route(session: Session, /, candidate: bool, **body: Any) -> None:
    """Add a static route."""
    _write(session, "/static-routes", "POST", body, candidate, None)


@route.command("rm")
@click.argument("route_id")
@candidate_option
@pass_session
def remove_route(session: Session, route_id: str, candidate: bool) -> None:
    """Delete a static route."""
    path = f"/static-routes/{segment(route_id)}"
    _write(session, path, "DELETE", None, candidate, _present(session, path, candidate)["etag"])


@click.group("firewall", cls=Group)
def firewall() -> None:
    """The policy between LAN and WAN."""


@firewall.command("show")
@pass_session
def show_firewall(session: Session) -> None:
    """Show the policy."""
    output.show_json(session.client.get("/firewall"))


@firewall.command("set")
@click.option("--masquerade/--no-masquerade", default=None)
@click.option("--drop-new-from-wan/--accept-new-from-wan", default=None)
@click.option("--allow-ping-from-wan/--drop-ping-from-wan", default=None)
@click.option("--allow-tcp", "allowed_wan_tcp_ports", multiple=True, type=click.IntRange(1, 65535))
@candidate_option
@pass_session
def set_firewall(session: Session, /, candidate: bool, **given: Any) -> None:
    """Change the policy. --allow-tcp replaces the list of open ports."""
    body = {field: value for field, value in given.items() if value not in (None, ())}
    if "allowed_wan_tcp_ports" in body:
        body["allowed_wan_tcp_ports"] = list(body["allowed_wan_tcp_ports"])
    present = _present(session, "/firewall", candidate)
    _write(session, "/firewall", "PATCH", body, candidate, present["etag"])


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
    for group in (interface, route, firewall, queue_type):
        main.add_command(group)
