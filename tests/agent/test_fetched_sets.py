# SPDX-License-Identifier: Apache-2.0
"""Sets whose list a real agent fetches from a real web server, which also misbehaves."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.alert_rig import SERVER, Made, alerting
from tests.agent.list_server import PAGE, ListServer, list_server
from tests.agent.rig import Rig
from tests.polling import until
from weir.adapters import nft, nft_elements
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import Set
from weir.model.problem import Problem

LIST = b"; Spamhaus DROP List\n198.51.100.0/24 ; SBL1\n192.0.2.7\n2001:db8:bad::/48 ; SBL2\n"
MANY = 100_000
TO = FirewallRule("shut", chain="forward", action="drop", destination_set="drop")
FROM = replace(TO, destination_set=None, source_set="drop")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with alerting(tmp_path_factory.mktemp("certificates")) as found:
        found.rig.run("ip", "route", "add", "198.51.100.0/24", "via", "203.0.113.1")
        yield found


@pytest.fixture
def server(made: Made) -> Iterator[ListServer]:
    with list_server(made.rig.internet, SERVER, says=LIST) as found:
        yield found
    forget(made.rig)


def forget(rig: Rig) -> None:
    known = [("firewall-rule", "shut"), ("set", "drop")]
    with rig.store.write() as transaction:
        held = [key for key in known if transaction.stored(*key) is not None]
    rig.commit(delete=held)


def networks(first: int, count: int) -> bytes:
    return b"".join(b"%d.%d.%d.0/24\n" % (first, n >> 8, n & 255) for n in range(count))


def listed(port: int, scheme: str = "http", **more: Any) -> Set:
    return Set("drop", source="url", url=f"{scheme}://{SERVER}:{port}/drop.txt", **more)


def state(rig: Rig) -> dict[str, Any]:
    return dict(rig.agent.call("state", {"kind": "set", "ids": ["drop"]})["objects"].get("drop", {}))


def keys(rig: Rig, name: str) -> set[str]:
    with netns.inside(rig.router):
        return {str(ipaddress.ip_address(key)) for key in nft_elements.keys(nft.TABLE, name)}


def names(rig: Rig) -> set[str]:
    with netns.inside(rig.router):
        table = nft.read_table()
        return set() if table is None else set(table.sets)


def refreshed(rig: Rig) -> dict[str, Any]:
    """Of a set that nobody else fetches now."""
    found: list[dict[str, Any]] = []

    def is_done() -> bool:
        try:
            found.append(rig.agent.call("set_refresh", {"id": "drop"}))
        except Problem as problem:
            assert problem.code == "refresh-busy", problem
        return bool(found)

    until("it was tried", is_done)
    return found[0]


def is_written(place: Path, before_ns: int) -> bool:
    """Or is about to be."""
    return place.with_name("drop.list.new").exists() or place.stat().st_mtime_ns != before_ns


def asked_without_answer(rig: Rig) -> None:
    """The agent ends before it answers."""
    with suppress(Problem, AssertionError):
        refreshed(rig)


def has(rig: Rig, entries: int) -> None:
    until(f"it has {entries} entries", lambda: state(rig).get("entries") == entries)


def full(rig: Rig, port: int) -> None:
    rig.commit(listed(port))
    has(rig, 3)


def test_a_list_is_fetched_and_rules_match_it(made: Made, server: ListServer) -> None:
    """Of an empty set rules match nothing; then each length is looked up, and a packet counts once."""
    rig = made.rig
    netns.ip(rig.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
    server.way = "fails"
    rig.commit(listed(server.port), TO)
    until("it was tried", lambda: state(rig)["last_error"] == "it answered 404 Not Found")
    assert state(rig)["entries"] == 0 and state(rig)["fetched_at"] is None
    assert "goto" not in rig.run("nft", "list", "chain", "inet", "weir", "x0_shut_4_0")
    server.way = "answers"
    assert refreshed(rig)["fetched"]
    assert keys(rig, "a4_24_drop") == {"198.51.100.0"}
    assert keys(rig, "a4_32_drop") == {"192.0.2.7"}
    assert keys(rig, "a6_48_drop") == {"2001:db8:bad::"}
    told = state(rig)
    assert (told["entries"], told["last_error"], told["skipped"]) == (3, None, 0)
    assert told["fetched_at"] == told["changed_at"] and told["next_at"] > told["fetched_at"]
    rig.run("ping", "-c", "1", "-W", "1", "203.0.113.1", namespace=rig.client_ns)
    count = rig.agent.call("state", {"kind": "firewall-rule", "ids": ["shut"]})["objects"]["shut"]["packets"]
    with pytest.raises(AssertionError):
        rig.run("ping", "-c", "1", "-W", "1", "198.51.100.77", namespace=rig.client_ns)
    after = rig.agent.call("state", {"kind": "firewall-rule", "ids": ["shut"]})["objects"]["shut"]["packets"]
    assert after == count + 1


def test_a_list_that_changes_costs_no_revision_and_no_counter(made: Made, server: ListServer) -> None:
    rig = made.rig
    rig.commit(listed(server.port), TO)
    has(rig, 3)
    before, drift = rig.status()["revision"], rig.status()["drift"]
    rig.run("nft", "reset", "counter", "inet", "weir", "r_shut")
    with pytest.raises(AssertionError):
        rig.run("ping", "-c", "1", "-W", "1", "198.51.100.77", namespace=rig.client_ns)
    server.says = b"198.51.100.0/25\n192.0.2.8\n203.0.113.128/25\n"
    assert refreshed(rig) | {"took_ms": 0} == {
        "fetched": True, "answer": "it was taken", "entries": 3, "took_ms": 0,
    }  # fmt: skip
    assert keys(rig, "a4_25_drop") == {"198.51.100.0", "203.0.113.128"}
    assert names(rig) == {"a4_25_drop", "a4_32_drop"}
    assert "packets 1 " in rig.run("nft", "list", "counter", "inet", "weir", "r_shut")
    rig.commit(Firewall(allowed_wan_tcp_ports=(22,)))
    assert keys(rig, "a4_32_drop") == {"192.0.2.8"}, "a commit of something else leaves it alone"
    rig.run("nft", "add element inet weir a4_32_drop { 10.9.9.9 }")
    until("what somebody adds is taken away", lambda: keys(rig, "a4_32_drop") == {"192.0.2.8"})
    assert rig.status()["revision"] == before + 1
    until("that is told", lambda: len(rig.status()["drift"]) == len(drift) + 1)
    assert rig.explain("drop", "set")["agrees"], rig.explain("drop", "set")


BAD = {
    "not there": ("fails", b"", "it answered 404 Not Found"),
    "empty": ("answers", b"\n# nothing\n", "it is empty"),
    "a web page": ("is a page", b"", "it is no list of addresses but text/html"),
    "a web page that says it is text": ("answers", PAGE, "it is a web page or XML, and no list of addresses"),
    "JSON": ("answers", b'{"prefixes": ["198.51.100.0/24"]}', "it is JSON, and no list of addresses"),
    "a gigabyte that is told": ("promises a gigabyte", b"", "it has 1073741824 bytes, and 16777216 "),
    "a gigabyte": ("sends a gigabyte", b"", "it has more than 16777216 bytes"),
    "a bomb": ("bomb", b"", "unpacked it has more than 16777216 bytes"),
    "cut off": ("cuts", LIST, f"it was cut off behind {len(LIST)} of {len(LIST) + 100} bytes"),
    "words": ("answers", b"good\nmorning\n1.2.3.4\n", "2 of its 3 lines are no addresses: line 1 begins"),
    "every address": ("answers", b"0.0.0.0/0\n", "line 1 has every address of IPv4"),
    "too long": ("answers", b"".join(b"10.0.0.%d\n" % n for n in range(200)), "it has more than 100 entries"),
    "ranges": ("answers", b"10.0.0.1-10.0.0.9\n", "line 1 has two addresses"),
    "a file of the router": ("moves", b"file:///etc/passwd", "it moved to 'file:///etc/passwd', which"),
    "the router": ("moves", b"http://203.0.113.2:80/", "203.0.113.2 is this router itself"),
    "a circle": ("moves", b"/drop.txt", "it moved more than 5 times"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_good_list_is_refused_as_a_whole_and_the_last_one_stays(
    made: Made, server: ListServer, name: str
) -> None:
    rig = made.rig
    rig.commit(listed(server.port, max_entries=100))
    has(rig, 3)
    fetched_at = state(rig)["fetched_at"]
    server.way, server.says, why = BAD[name]
    answer = refreshed(rig)
    assert not answer["fetched"] and answer["answer"].startswith(why), answer
    told = state(rig)
    assert told["entries"] == 3 and told["last_error"] == answer["answer"]
    assert told["fetched_at"] == fetched_at
    assert keys(rig, "a4_24_drop") == {"198.51.100.0"}
    if server.way == "sends a gigabyte":
        assert server.sent_bytes < 64 << 20


def test_a_list_that_is_as_it_was_is_not_sent_again(made: Made, server: ListServer) -> None:
    rig, server.tag = made.rig, '"v1"'
    full(rig, server.port)
    changed_at = state(rig)["changed_at"]
    assert refreshed(rig)["answer"] == "it is as it was"
    assert server.asked[-1]["If-None-Match"] == '"v1"'
    assert state(rig)["changed_at"] == changed_at and state(rig)["entries"] == 3
    server.way, server.tag = "packed", ""
    assert refreshed(rig)["fetched"], "packed by gzip it is the same list"
    assert state(rig)["changed_at"] == changed_at


def test_a_servers_certificate_is_checked_also_where_it_moves(made: Made) -> None:
    rig = made.rig
    with list_server(rig.internet, SERVER, made.trusted, says=LIST) as good:
        rig.commit(listed(good.port, "https"))
        has(rig, 3)
        with list_server(rig.internet, SERVER, says=LIST) as plain:
            good.way, good.says = "moves", f"http://{SERVER}:{plain.port}/".encode()
            assert "is not encrypted and not followed" in refreshed(rig)["answer"]
            assert not plain.asked
    with list_server(rig.internet, SERVER, made.strange, says=LIST) as strange:
        rig.commit(listed(strange.port, "https"))
        assert refreshed(rig)["answer"].startswith("its certificate is not accepted: ")
        assert not strange.asked and state(rig)["entries"] == 0
    forget(rig)


def test_what_was_fetched_outlives_a_restart_without_network(made: Made, server: ListServer) -> None:
    """All that was in the kernel is gone, as after a restart of the machine, and the server is away."""
    rig = made.rig
    rig.commit(listed(server.port), FROM)
    has(rig, 3)
    before = state(rig)
    rig.kill_agent()
    rig.run("nft", "flush", "ruleset")
    server.way = "hangs"
    rig.start_agent(*options(made))
    assert keys(rig, "a4_24_drop") == {"198.51.100.0"} and keys(rig, "a4_32_drop") == {"192.0.2.7"}
    assert "@a4_24_drop" in rig.run("nft", "list", "table", "inet", "weir")
    assert state(rig)["fetched_at"] == before["fetched_at"]


def options(made: Made) -> tuple[str, ...]:
    return "--look-interval-s", "0.2", "--ca-bundle", str(made.bundle)


@pytest.mark.parametrize("damage", ["half", "bit", "gone", "words"])
def test_what_was_kept_is_checked_when_it_is_read(made: Made, server: ListServer, damage: str) -> None:
    rig = made.rig
    full(rig, server.port)
    rig.kill_agent()
    rig.run("nft", "flush", "ruleset")
    place = rig.folder / "fetched-sets" / "drop.list"
    whole = place.read_bytes()
    other = {"half": whole[: len(whole) // 2], "bit": whole[:-1] + bytes([whole[-1] ^ 1]), "words": b"{}\n"}
    place.unlink() if damage == "gone" else place.write_bytes(other[damage])
    place.with_name("drop.list.new").write_bytes(whole[:20])
    server.way = "fails"
    rig.start_agent(*options(made))
    assert state(rig)["entries"] == 0
    until("it is told", lambda: state(rig)["last_error"])
    server.way = "answers"
    assert refreshed(rig)["fetched"]
    assert state(rig)["entries"] == 3 and place.read_bytes().partition(b"\n")[2] == whole.partition(b"\n")[2]


def test_who_is_killed_while_it_writes_has_the_old_or_the_new(made: Made, server: ListServer) -> None:
    rig = made.rig
    lists = [networks(11, count) for count in (20_000, 30_000)]
    server.says = lists[0]
    rig.commit(listed(server.port))
    place = rig.folder / "fetched-sets" / "drop.list"
    until("the first is kept", lambda: place.exists() and len(place.read_bytes()) > 80_000, 30)
    for turn in range(6):
        server.says = lists[(turn + 1) % 2]
        written = place.stat().st_mtime_ns
        asking = threading.Thread(target=asked_without_answer, args=(rig,))
        asking.start()
        until("it writes", partial(is_written, place, written))
        rig.kill_agent()
        asking.join()
        body = place.read_bytes().partition(b"\n")[2]
        assert len(body) in (6 + 80_000, 6 + 120_000)
        rig.start_agent(*options(made))
        assert state(rig)["entries"] in (20_000, 30_000)


def test_a_set_of_another_list_has_nothing_of_the_old_one(made: Made, server: ListServer) -> None:
    rig = made.rig
    rig.commit(listed(server.port), FROM)
    has(rig, 3)
    server.way = "fails"
    rig.commit(replace(listed(server.port), url=f"http://{SERVER}:{server.port}/other.txt"))
    assert state(rig)["entries"] == 0 and state(rig)["fetched_at"] is None
    assert not names(rig)
    server.way = "answers"
    assert refreshed(rig)["entries"] == 3
    rig.commit(replace(listed(server.port), disabled=True))
    assert not names(rig)
    with pytest.raises(Problem, match="is not fetched from anywhere"):
        rig.agent.call("set_refresh", {"id": "drop"})
    forget(rig)
    place = rig.folder / "fetched-sets" / "drop.list"
    rig.commit(listed(server.port))
    has(rig, 3)
    forget(rig)
    rig.commit(Set("other", source="url", url=f"http://{SERVER}:{server.port}/"))
    until("what was kept is gone", lambda: not place.exists())
    rig.commit(delete=[("set", "other")])


def test_who_fetches_has_no_rights(made: Made, server: ListServer) -> None:
    """It is nobody, without capabilities, and its arguments say nothing of the list."""
    rig, server.way = made.rig, "hangs"
    rig.commit(listed(server.port))
    until("it is asked", lambda: server.asked)
    process = next(
        folder
        for folder in Path("/proc").glob("[0-9]*")
        if b"weir.courier.fetch" in (folder / "cmdline").read_bytes()
    )
    told = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
    assert told["Uid"].split() == ["65534"] * 4 and told["Groups"].split() == []
    assert {told[name] for name in ("CapEff", "CapPrm", "CapInh")} == {"0" * 16}
    assert told["NoNewPrivs"] == "1" and b"drop.txt" not in (process / "cmdline").read_bytes()


def test_explain_says_why_a_set_is_empty(made: Made, server: ListServer) -> None:
    rig = made.rig
    server.way = "fails"
    rig.commit(listed(server.port))
    until("it was tried", lambda: state(rig)["last_error"])
    (line,) = [item for item in rig.explain("drop", "set")["lines"] if item["field"] == "source"]
    assert not line["agrees"] and "nothing was fetched yet: it answered 404" in line["system"]


def test_a_hundred_thousand_are_put_in_and_no_commit_waits(made: Made, server: ListServer) -> None:
    rig = made.rig
    server.says = networks(11, MANY - 65_536) + networks(12, 65_536)
    rig.commit(listed(server.port, max_entries=200_000))
    until("it has begun", lambda: state(rig).get("entries", 0) > 0, 30)
    slowest = 0.0
    turns = 0
    while state(rig)["entries"] < MANY:
        begun = time.monotonic()
        turns += 1
        rig.commit(Firewall(allowed_wan_tcp_ports=(1000 + turns,)))
        slowest = max(slowest, time.monotonic() - begun)
    print(f"slowest of {turns} commits meanwhile: {slowest:.2f} s")
    assert turns > 1 and slowest < 3.0
    begun = time.monotonic()
    rig.commit(Firewall(allowed_wan_tcp_ports=(999,)))
    print(f"a commit afterwards: {time.monotonic() - begun:.2f} s")
