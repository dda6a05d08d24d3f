# SPDX-License-Identifier: Apache-2.0
"""A part that this release does not have is planned, done, verified, undone, counted and scanned like the
others, because it is registered: nothing else in the agent names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.compiler.test_parts_of_a_plan import WIDER
from weir.agent.configuration import Configuration
from weir.agent.executor import Executor
from weir.agent.explain import explain_object
from weir.agent.following import Following
from weir.agent.stages import SHAPING_STAGES
from weir.backends.backend import Comparison, Look, by_difference, refuse, step
from weir.kinds.static_route import StaticRoute
from weir.model.document import Change
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed, NotFound, Unavailable
from weir.parts.delta import Step
from weir.parts.effect import Effect, for_each
from weir.parts.explained import Line
from weir.parts.part import Parts
from weir.parts.registry import PARTS
from weir.store import ConfigStore


class Nothing:
    """A backend that finds nothing to do."""

    topics: frozenset[Any] = frozenset()
    is_scanned_apart = False

    def read(self) -> None: ...
    def diff(self, _held: object, _wanted: object) -> tuple[()]:
        return ()

    def refuse_missing(self, *_words: object) -> None: ...
    def read_keys(self) -> dict[int, int]:
        return {}

    def decisions(self, _held: object, _wanted: object) -> dict[str, Any]:
        return {}

    def flow_devices(self, _decisions: object) -> tuple[str, ...]:
        return ()

    def effects(self, _look: Look[Any, Any, Any]) -> Iterator[Effect]:
        return iter(())

    def explain(
        self, found: Comparison[Any, Any, Any], item: ConfigObject, told: Sequence[str]
    ) -> Iterator[Line]:
        return iter(())

    def reports(self, _wanted: object) -> tuple[()]:
        return ()


class Switched:
    """What the mirror has to become."""

    def __init__(self, held: str, wanted: str) -> None:
        self.held, self.wanted = held, wanted

    def __bool__(self) -> bool:
        return self.held != self.wanted

    def steps(self) -> Sequence[Step]:
        return [step("mirrors", "change", "mirror", f"{self.wanted} (was {self.held})")]


class MirrorBackend(Nothing):
    """The part's other half, whose system is a field; `takes` False: what is written is not held."""

    topics = frozenset(("links",))

    def __init__(self) -> None:
        self.held, self.takes = "", True

    def read(self) -> str:  # type: ignore[override]
        return self.held

    def diff(self, held: str, wanted: str) -> Switched:  # type: ignore[override]
        return Switched(held, wanted)

    def apply(self, difference: Switched) -> None:
        self.held = difference.wanted if self.takes else "broken"

    def explain(
        self, found: Comparison[Any, Any, Any], item: ConfigObject, told: Sequence[str]
    ) -> Iterator[Line]:
        yield from by_difference("mirrors", found, told)

    def effects(self, look: Look[Any, Any, Any]) -> Iterator[Effect]:
        if look.difference.held:
            yield from for_each(look.changed, "resets", f"the mirror leaves {look.held}", 7)

    def verify(self, difference: Switched) -> None:
        self.takes, took = True, self.takes
        refuse("mirrors", [] if took else [f"the mirror is {self.held}"])


@pytest.fixture
def mirror() -> MirrorBackend:
    return MirrorBackend()


@contextmanager
def configured(
    folder: Path, parts: Parts, now_local: Callable[[], datetime] = datetime.now, **others: object
) -> Iterator[Configuration]:
    """A configuration of these parts; all that this release has find nothing to do but those given."""
    ConfigStore.open(folder / "weir.db", create=True).close()
    store = ConfigStore.open(folder / "weir.db")
    names = (*(part.name for part in PARTS), *SHAPING_STAGES)
    backends: dict[str, Any] = {name: Nothing() for name in names}
    backends["network"].read = lambda: SimpleNamespace(links=("lan0", "lan1", "wan0"))
    backends["tables"].topics = frozenset(("hooks",))
    executor = Executor(**backends | others, parts=parts)
    sharing: Any = SimpleNamespace(reset=lambda _: None, follow=lambda _: None)
    found = Configuration(executor, sharing, Following(store, None), 64, now_local)
    assert found.open_store()
    yield found
    store.close()


@pytest.fixture
def configuration(tmp_path: Path, mirror: MirrorBackend) -> Iterator[Configuration]:
    with configured(tmp_path, WIDER, mirrors=mirror) as found:
        yield found


def added(*names: str) -> list[Change]:
    return [Change("interface", name, None, Interface(name, "lan")) for name in names]


def test_it_is_planned_counted_and_done(configuration: Configuration, mirror: MirrorBackend) -> None:
    foreseen = configuration.preview(added("lan0"))
    answer = configuration.apply(0, 1, added("lan0"))
    assert mirror.held == "lan0"
    mirrored = {"backend": "mirrors", "action": "add", "what": "mirror lan0"}
    assert mirrored in answer["steps"] and answer["steps"] == foreseen["steps"]
    assert answer["counts"] == foreseen["counts"]
    assert answer["counts"]["added"] == len(answer["steps"])


def test_it_is_verified_and_rolled_back(configuration: Configuration, mirror: MirrorBackend) -> None:
    configuration.apply(0, 1, added("lan1"))
    configuration._settled(configuration.following.judge(None))
    mirror.takes = False
    with pytest.raises(ApplyFailed, match="the mirror is broken"):
        configuration.apply(0, 2, added("lan0"))
    assert mirror.held == "lan1", "it was left as the change made it"


def test_a_change_that_is_given_up_is_undone_in_it_too(
    configuration: Configuration, mirror: MirrorBackend
) -> None:
    configuration.apply(0, 1, added("lan0"))
    configuration.abandoned(None)
    assert mirror.held == ""


def test_a_connection_that_is_late_in_ending_undoes_nobody_elses_change(
    configuration: Configuration, mirror: MirrorBackend
) -> None:
    """The API gave up the first before the store had it, so the next commit has its number."""
    first, next_one = object(), object()
    configuration.apply(0, 1, added("lan0"), first)
    configuration.resync()
    configuration.apply(0, 1, added("lan1"), next_one)
    configuration.abandoned(first)
    assert (configuration.revision, mirror.held) == (1, "lan1")
    configuration.abandoned(next_one)
    assert (configuration.revision, mirror.held) == (0, "")


def test_what_it_costs_is_said_with_the_preview_and_the_commit(configuration: Configuration) -> None:
    assert configuration.apply(0, 1, added("lan1"))["effects"] == []
    configuration._settled(configuration.following.judge(None))
    foreseen = configuration.preview(added("lan0"))["effects"]
    assert foreseen == [Effect("interface", "lan0", "resets", "the mirror leaves lan1", 7).to_json()]
    assert configuration.apply(1, 2, added("lan0"))["effects"] == foreseen


def test_it_is_scanned_for_drift_and_looks_at_its_events(
    configuration: Configuration, mirror: MirrorBackend
) -> None:
    configuration.apply(0, 1, added("lan0"))
    executor = configuration.executor
    assert "mirrors" in executor.scanned() and "mirrors" in executor.looking_at("links")
    assert "mirrors" not in executor.looking_at("routes")
    mirror.held = "somebody else's"
    configuration.reconcile(executor.looking_at("links"))
    assert mirror.held == "lan0"
    (found,) = configuration.drift.to_json()
    assert (found["part"], found["repaired"]) == ("mirrors", True)
    assert found["text"] == "change mirror lan0 (was somebody else's)"


def test_an_object_is_explained_by_what_the_system_has(
    configuration: Configuration, mirror: MirrorBackend
) -> None:
    configuration.apply(0, 1, added("lan0"))
    found = explain_object(configuration, "interface", "lan0")
    (line,) = found["lines"]
    assert (found["agrees"], found["asked"]["role"], line["part"]) == (True, "lan", "mirrors")
    assert (line["compiled"], line["system"]) == ("mirror lan0", "it is so")
    mirror.held = "somebody else's"
    (line,) = explain_object(configuration, "interface", "lan0")["lines"]
    assert line["agrees"] is False and "change mirror lan0 (was somebody else's)" in line["system"]
    configuration.reconcile()
    found = explain_object(configuration, "interface", "lan0")
    assert found["agrees"] and [entry["repaired"] for entry in found["drift"]] == [True]
    with pytest.raises(NotFound, match="does not run interface 'lan9'"):
        explain_object(configuration, "interface", "lan9")


def test_what_cannot_be_read_is_not_said_to_agree(
    configuration: Configuration, mirror: MirrorBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration.apply(0, 1, added("lan0"))

    def away() -> str:
        raise Unavailable("the mirror does not answer")

    monkeypatch.setattr(mirror, "read", away)
    found = explain_object(configuration, "interface", "lan0")
    (line,) = found["lines"]
    assert found["agrees"] is None and line["agrees"] is None
    assert line["system"] == "cannot be read: the mirror does not answer"


def test_what_no_part_is_made_of_is_neither_so_nor_not_so(configuration: Configuration) -> None:
    found = explain_object(configuration, "queue-type", "default-small")
    assert (found["lines"], found["agrees"]) == ([], None)


def test_what_it_is_not_made_of_leaves_it_alone(configuration: Configuration, mirror: MirrorBackend) -> None:
    configuration.apply(0, 1, added("lan0"))
    configuration._settled(configuration.following.judge(None))
    mirror.held = "untouched"
    route = StaticRoute("r1", destination="10.0.0.0/8", blackhole=True)
    configuration._advance([Change("static-route", "r1", None, route)], strict=True)
    assert mirror.held == "untouched"
