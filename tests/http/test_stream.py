# SPDX-License-Identifier: Apache-2.0
"""Live figures: by request, and as a stream that is encoded once for readers of the same."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.http.test_diagnosis import sick
from tests.http.world import Client, World
from weir.model.problem import Unavailable
from weir.service.router_state import Router
from weir.stats.fanout import HEARTBEAT, Fanout
from weir.store.accounts import AccountStore, accounts_path


@pytest.fixture
def still(world: World) -> Iterator[World]:
    """A world whose sampler ticks only when it is told to."""
    world.parts.stats._stop.set()
    thread = world.parts.stats._thread
    assert thread is not None
    thread.join(timeout=60)
    for _ in range(2):  # the rates of interfaces need both
        world.parts.stats.tick()
    yield world


def events(chunk: bytes) -> dict[str, Any]:
    found = {}
    for block in chunk.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
        if "event" in lines:
            found[lines["event"]] = json.loads(lines["data"])
    return found


def open_stream(api: Client, query: str = "") -> Iterator[bytes]:
    answer = api("GET", f"/stats/stream{query}", buffered=False)
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "text/event-stream"
    return iter(answer.response)


def add(api: Client, name: str) -> str:
    return str(api("POST", "/queues", {"name": name}).json["id"])


def test_figures_by_request(still: World) -> None:
    api = still.client()
    queue_id = add(api, "a")
    still.parts.stats.tick()
    still.agent.maps.count(queue_id, 1, bytes=125_000, packets=100)
    still.parts.stats.tick()
    top = api("GET", "/stats/queues?top=5").json
    assert [item["id"] for item in top["items"]] == [queue_id]
    assert top["items"][0]["rate_bps"]["download"] > 0
    named = api("GET", f"/stats/queues?ids={queue_id},nobody").json["items"]
    assert [item["live"] for item in named] == [True, False]
    history = api("GET", f"/stats/queues/{queue_id}/history?window=2m").json
    assert history["step_s"] == 1
    assert len(history["download"]["rate_bps"]) == 120
    assert history["download"]["rate_bps"][-1] > 0
    assert api("GET", "/stats/queues/nobody/history").status_code == 404
    assert len(api("GET", "/stats/interfaces").json["items"]) == 2
    assert len(api("GET", "/stats/system").json["cpu_busy"]) == 2


def load(api: Client) -> tuple[bool, list[str]]:
    """Whether the busiest queues are known, and which they are."""
    answer = api("GET", "/stats/queues?by=load").json
    assert (answer["stale_since"] is None) == (answer["stale_reason"] is None)
    return answer["stale_since"] is None, [item["id"] for item in answer["items"]]


def replace_all(api: Client, *names: str) -> None:
    before = [queue["id"] for queue in api("GET", "/queues").json["items"]]
    rate = {"upload": 10**6, "download": 10**6}
    new = [{"id": name, "name": name, "max_limit_bps": rate} for name in names]
    answer = api("POST", "/queues/bulk", {"upsert": new, "delete": before})
    assert answer.status_code == 200, answer.text


def test_a_ranking_is_not_known_until_new_queues_were_measured_twice(still: World) -> None:
    """An empty ranking was given as known: the overview said that nothing was at its limit."""
    api = still.client()
    assert load(api) == (True, [])
    replace_all(api, "a", "b")
    assert not load(api)[0]
    for known in (False, True):
        still.parts.stats.tick()
        assert load(api)[0] is known
    still.agent.maps.limits_bps[still.agent.maps.slots["a"] * 2 + 1] = 10**6
    still.agent.maps.count("a", 1, bytes=125_000, packets=100)
    still.parts.stats.tick()
    assert load(api) == (True, ["a"])
    replace_all(api, "c", "d")
    assert not load(api)[0], "a is gone, and nobody has looked at c and d"
    api("POST", "/queues", {"name": "e"})
    still.parts.stats.tick()
    still.parts.stats.tick()
    api("POST", "/queues", {"name": "f"})
    assert load(api)[0], "one queue more leaves the others as they were measured"


def test_a_ranking_is_not_known_when_the_agent_died_after_a_change(still: World) -> None:
    api = still.client()
    replace_all(api, "a", "b")
    still.parts.stats.tick()
    still.parts.stats.tick()
    assert load(api)[0]
    replace_all(api, "c", "d")
    still.agent.__exit__(None, None, None)
    for _ in range(3):
        still.parts.stats.tick()
    answer = api("GET", "/stats/queues?by=load").json
    assert answer["stale_since"] is not None
    assert "agent" in answer["stale_reason"]


def test_a_ranking_is_not_known_until_a_new_agent_was_asked_twice(still: World) -> None:
    api = still.client()
    replace_all(api, "a", "b")
    still.parts.stats.tick()
    still.parts.stats.tick()
    assert load(api)[0]
    still.agent.started_at += 1
    still.parts.stats.tick()
    assert not load(api)[0]
    still.parts.stats.tick()
    assert load(api)[0]


def test_rates_of_interfaces_are_not_known_until_they_were_read_twice(still: World) -> None:
    """The first answer of an agent gave rates of zero as measured ones."""
    router = still.parts.stats.router = Router()
    still.parts.stats.tick()
    answer = still.client()("GET", "/stats/interfaces").json
    assert (answer["stale_since"], answer["stale_reason"]) == (
        router.at,
        "The interfaces were read once so far.",
    )
    assert events(next(open_stream(still.client()))).keys() == {"queues", "config"}
    still.parts.stats.tick()
    assert still.client()("GET", "/stats/interfaces").json["stale_since"] is None
    assert events(next(open_stream(still.client()))).keys() == {"queues", "interfaces", "system", "config"}


def test_a_stream_begins_with_everything_and_goes_on_each_tick(still: World) -> None:
    api = still.client()
    queue_id = add(api, "a")
    still.parts.stats.tick()
    stream = open_stream(api, f"?ids={queue_id}")
    first = next(stream)
    assert first.startswith(b"retry: 2000\n\n")
    found = events(first)
    assert found.keys() == {"queues", "interfaces", "system", "config"}
    assert found["config"] == {"pending": None, "revision": 1}
    still.parts.stats.tick()
    second = next(stream)
    assert b"\nevent: queues\n" in b"\n" + second
    assert second.startswith(b"id: ")
    assert "config" not in events(second)
    api("POST", "/queues", {"name": "b"})
    still.parts.stats.tick()
    assert events(next(stream))["config"]["revision"] == 2


def test_topics_choose_what_is_sent(still: World) -> None:
    stream = open_stream(still.client(), "?topics=system,config")
    assert events(next(stream)).keys() == {"system", "config"}
    assert still.client()("GET", "/stats/stream?topics=shoes").status_code == 422


def learnt(still: World, stream: Iterator[bytes]) -> Any:
    """The next event of states, after a look at them."""
    stats = still.parts.stats
    stats.states.look(stats._asked_states())
    stats.tick()
    return events(next(stream)).get("states")


def changed(event: Any) -> dict[str, Any]:
    return {item["id"]: item["fields"]["packets"] for item in event["items"]}


@pytest.fixture
def rules(still: World) -> Client:
    api = still.client()
    for name in ("a", "b"):
        body = {"chain": "forward", "action": "accept"}
        assert api("PUT", f"/firewall-rules/{name}", body).status_code == 201
    still.agent.learnt["firewall-rule"] = {name: {"packets": 1, "bytes": 9} for name in ("a", "b")}
    return api


def test_states_begin_with_all_and_go_on_with_what_changed(still: World, rules: Client) -> None:
    stream = open_stream(rules, "?states=firewall-rule")
    first = events(next(stream))["states"]
    assert changed(first) == {"a": 1, "b": 1} and {item["kind"] for item in first["items"]} == {
        "firewall-rule"
    }
    again = learnt(still, stream)
    assert again["at"] > first["at"] and not changed(again), "nothing changed, and that is news"
    still.agent.learnt["firewall-rule"]["b"] = {"packets": 2, "bytes": 18}
    assert changed(learnt(still, stream)) == {"b": 2}
    still.parts.stats.tick()
    assert "states" not in events(next(stream)), "nobody looked meanwhile"


def test_states_of_named_objects_say_nothing_of_others(still: World, rules: Client) -> None:
    stream = open_stream(rules, "?topics=states&states=firewall-rule/b,firewall-rule/nobody")
    assert changed(events(next(stream))["states"]) == {"b": 1, "nobody": None}
    asked = still.parts.stats._asked_states()
    assert asked == {("firewall-rule/b", "firewall-rule/nobody")}


def test_states_say_since_when_the_agent_is_away(still: World, rules: Client) -> None:
    stream = open_stream(rules, "?states=firewall-rule/a")
    (known,) = events(next(stream))["states"]["items"]
    still.agent.__exit__(None, None, None)
    away = learnt(still, stream)
    (item,) = away["items"]
    assert away["at"] is None and item["stale_since"] == known["at"] and item["stale_reason"]
    assert item["fields"] == known["fields"]
    still.agent.__enter__()
    back = learnt(still, stream)
    assert [item["stale_reason"] for item in back["items"]] == [None] and back["at"]


def test_of_a_kind_that_has_no_state_no_stream_is_opened(still: World) -> None:
    refused = still.client()("GET", "/stats/stream?states=prefix-list/x")
    assert (refused.status_code, refused.json["code"]) == (404, "no-state")
    assert still.client()("GET", "/stats/stream?states=shoes").status_code == 404


def test_a_reader_who_missed_a_change_is_told_everything() -> None:
    """A frame that was not taken is replaced: what changed in it would never be said again."""
    fanout: Fanout[str] = Fanout(2)
    late, quick = (fanout.stream("x", b"first") for _ in range(2))
    for number in (b"1", b"2"):
        fanout.publish(lambda _, number=number: number, lambda _: b"all")  # type: ignore[misc]
        assert quick.poll() == number
    assert late.poll() == b"all"


def test_the_loss_of_the_agent_is_said_while_queues_go_on(still: World) -> None:
    api = still.client()
    queue_id = add(api, "a")
    still.parts.stats.tick()
    stream = open_stream(api, f"?ids={queue_id}")
    next(stream)
    still.agent.__exit__(None, None, None)
    still.parts.stats.tick()
    found = events(next(stream))
    assert found.keys() == {"stale", "queues"}
    assert "agent" in found["stale"]["reason"]


def test_the_number_of_streams_is_bounded(still: World) -> None:
    still.parts.stats._fanout._most = 2
    streams = [open_stream(still.client()) for _ in range(2)]
    for stream in streams:
        next(stream)
    refused = still.client()("GET", "/stats/stream")
    assert (refused.status_code, refused.json["code"]) == (503, "too-many-streams")
    streams[0].close()  # type: ignore[attr-defined]
    assert still.client()("GET", "/stats/stream", buffered=False).status_code == 200


def end_token(world: World, token_id: str) -> None:
    world.client()("DELETE", f"/tokens/{token_id}")


def end_by_command(world: World, token_id: str) -> None:
    """As another process does that writes to the same file."""
    accounts = AccountStore.open(accounts_path(world.database))
    with accounts.write() as writer:
        assert writer.revoke_token(token_id, None)
    accounts.close()


def disable_owner(world: World, token_id: str) -> None:
    owners = {item["id"]: item["owner"] for item in world.client()("GET", "/tokens").json["items"]}
    answer = world.client()("PATCH", f"/users/{owners[token_id]}", {"disabled": True})
    assert answer.status_code == 200


@pytest.mark.parametrize("end", [end_token, end_by_command, disable_owner])
def test_a_stream_ends_within_a_second_of_its_credential(
    world: World, end: Callable[[World, str], None]
) -> None:
    """A revoked token's stream went on for 12 s."""
    admin = world.client()
    took_s = []
    for name in ("ops1", "ops2", "ops3"):  # the best of three: the machine may be busy
        admin("POST", "/users", {"username": name, "scope": "write", "password": "a rather long word 7"})
        ops = world.parts.service.auth.sign_in(name, "a rather long word 7", "192.0.2.1")
        token, secret = world.parts.service.tokens.create(ops.principal, "ci", "read", None)
        stream = open_stream(Client(world.app.test_client(), secret), "?topics=system")
        next(stream)
        end(world, token.id)
        began = time.monotonic()
        for _ in stream:
            assert time.monotonic() - began < 5, "the stream goes on"
        took_s.append(time.monotonic() - began)
    assert min(took_s) < 1


def test_holders_are_asked_about_once(still: World) -> None:
    fanout: Fanout[str] = Fanout(10)
    streams = [fanout.stream("a", b"first", holder) for holder in ("x", "x", "y")]
    asked: list[str] = []

    def permitted(holder: str) -> bool:
        asked.append(holder)
        return holder == "y"

    fanout.close_refused(permitted)
    assert sorted(asked) == ["x", "y"]
    assert [stream.poll() for stream in streams] == [None, None, b""]


def test_equal_filters_are_encoded_once() -> None:
    fanout: Fanout[str] = Fanout(10)
    encoded: list[str] = []

    def encode(chosen: str) -> bytes:
        encoded.append(chosen)
        return chosen.encode()

    readers = [fanout.subscribe("a"), fanout.subscribe("a"), fanout.subscribe("b")]
    fanout.publish(encode)
    assert sorted(encoded) == ["a", "b"]
    assert [reader.take(1) for reader in readers] == [b"a", b"a", b"b"]
    assert readers[0].take(0.001) == HEARTBEAT
    fanout.close()
    assert readers[0].take(1) is None
    with pytest.raises(Unavailable):
        fanout.subscribe("a")


def test_a_slow_reader_gets_the_newest_frame_only() -> None:
    fanout: Fanout[str] = Fanout(1)
    reader = fanout.subscribe("a")
    for number in range(5):
        fanout.publish(lambda _, number=number: str(number).encode())
    assert reader.take(1) == b"4"


def test_a_reader_is_woken_by_a_frame() -> None:
    fanout: Fanout[str] = Fanout(1)
    reader = fanout.subscribe("a")
    taken: list[bytes | None] = []
    thread = threading.Thread(target=lambda: taken.append(reader.take(60)))
    thread.start()
    fanout.publish(lambda _: b"now")
    thread.join(timeout=60)
    assert taken == [b"now"]


def test_a_stream_that_is_never_read_gives_its_place_back() -> None:
    """As the server does with the answer to HEAD."""
    fanout: Fanout[str] = Fanout(1)
    for _ in range(3):
        fanout.stream("a", b"first")
    stream = fanout.stream("a", b"first")
    assert next(iter(stream)) == b"first"
    stream.close()
    assert fanout.filters() == []


def test_who_listens_is_woken_and_polls() -> None:
    fanout: Fanout[str] = Fanout(1)
    stream = fanout.stream("a", b"first")
    woken: list[None] = []
    stream.listen(lambda: woken.append(None))
    assert stream.poll() == b""
    fanout.publish(lambda _: b"now")
    assert woken
    assert stream.poll() == b"now"
    fanout.close()
    assert stream.poll() is None


def test_a_rate_is_over_the_time_between_two_readings(still: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that answered late made the next second's rate several times what had passed."""
    api = still.client()
    queue_id = add(api, "a")
    stats = still.parts.stats
    stats.tick()
    clock = SimpleNamespace(now_s=1000.0, delay_s=0.0)
    ask = stats._ask_agent

    def ask_slowly() -> None:
        ask()
        clock.now_s += clock.delay_s

    monkeypatch.setattr(
        "weir.service.stats.time", SimpleNamespace(time=time.time, monotonic=lambda: clock.now_s)
    )
    monkeypatch.setattr(stats, "_ask_agent", ask_slowly)
    stats.tick()
    for clock.delay_s, octets in ((2.0, 250_000), (1.0, 125_000)):
        still.agent.maps.count(queue_id, 1, bytes=octets)
        stats.tick()
        figures = api("GET", f"/stats/queues?ids={queue_id}").json["items"][0]
        assert figures["rate_bps"]["download"] == 1_000_000


def test_leases_that_come_and_go_are_told_to_those_who_ask(still: World, api: Client) -> None:
    frames = open_stream(api, "?topics=leases")
    next(frames)
    still.parts.stats.tick()
    still.agent.lease_changes = [{"what": "came", "address": "10.64.0.9"}]
    still.parts.stats.tick()
    assert events(next(frames))["leases"] == {"items": [{"what": "came", "address": "10.64.0.9"}]}
    others = open_stream(api)
    next(others)
    still.agent.lease_changes = [*still.agent.lease_changes, {"what": "went", "address": "10.64.0.9"}]
    still.parts.stats.tick()
    assert "leases" not in events(next(others)), "nobody is told who did not ask"


def test_findings_are_streamed_to_those_who_ask_whenever_they_change(still: World) -> None:
    stats = still.parts.stats
    stream = open_stream(still.client(), "?topics=findings")
    assert "findings" not in events(next(stream))
    stats.tick()
    assert events(next(stream))["findings"]["findings"] == []
    still.agent.findings = sick()
    stats.tick()
    assert [item["code"] for item in events(next(stream))["findings"]["findings"]] == ["one-core-works"]
    still.agent.findings = {**still.agent.findings, "at_ms": 99_000}
    stats.tick()
    still.agent.findings = {**sick(), "findings": []}
    stats.tick()
    assert events(next(stream))["findings"]["findings"] == [], "a new look with the same findings is no news"
