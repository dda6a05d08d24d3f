# SPDX-License-Identifier: Apache-2.0
"""What every backend is: read the kernel, compare with what is wanted, apply the difference, verify.

`diff` is a pure function of what `read` returned. `apply` of a difference that is already in force does
no harm, so that a half-applied one can be followed by another. `verify` reads the kernel again and
never trusts what `apply` believes it did.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from weir.adapters.events import KernelTopic
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import ApplyFailed
from weir.parts.delta import Action, Step
from weir.parts.effect import Effect, Sessions
from weir.parts.explained import Line

Held = TypeVar("Held")
Wanted = TypeVar("Wanted", contravariant=True)


Topic = KernelTopic | Literal["leases", "routing", "hooks", "daemons", "uplinks"]
"""What happens that makes a part look: something in the kernel; a DHCP lease came or went; routes changed
what XDP may send; a program or a pin was taken away; a routing daemon is another than before; an uplink
failed or works again."""

TOLD = 20
"""So many steps or entries are told to a person who asks about one object."""


class Difference(Protocol):
    """What one backend has to do. False when that is nothing."""

    def __bool__(self) -> bool: ...

    def steps(self) -> Iterable[Step]:
        """What is done, for people and logs; in order, and perhaps made one by one."""
        ...


D = TypeVar("D", bound=Difference)


class Backend(Protocol[Held, Wanted, D]):
    """`Held` is what the kernel holds, `Wanted` what the compiler asks for, `D` the difference."""

    topics: ClassVar[frozenset[Topic]]
    """What makes it look, beside the scan that comes without an event."""
    is_scanned_apart: ClassVar[bool] = False
    """That scan is done in another way (`RunningConfiguration.tables_agree`)."""

    def read(self) -> Held:
        """Raises `Unavailable` when this part of the system cannot be asked."""
        ...

    def diff(self, held: Held, wanted: Wanted) -> D: ...

    def apply(self, difference: D) -> None:
        """Raises `ApplyFailed`, `Unavailable` or `NotFound`; the kernel may be half changed then."""
        ...

    def verify(self, difference: D) -> None:
        """Raises `ApplyFailed` naming what the kernel does not hold although it was asked to."""
        ...


H = TypeVar("H")
W = TypeVar("W")
G = TypeVar("G", bound=Difference)


class Comparison(Generic[H, W, G]):
    """What is wanted of one part beside what it holds. Nothing is read that is not asked for; `read` is who
    reads it where that is not the backend."""

    def __init__(self, backend: Backend[H, W, G], wanted: W, read: Callable[[], H] | None = None) -> None:
        self._backend = backend
        self._read = read or backend.read
        self.wanted = wanted

    @cached_property
    def held(self) -> H:
        return self._read()

    @cached_property
    def difference(self) -> G:
        return self._backend.diff(self.held, self.wanted)


class Look(Comparison[H, W, G]):
    """What is going to be done to one part, for somebody who wants to know first.

    `delta` is the plan's for this part; `changed` are the objects that the plan is made of; `sessions` counts
    TCP connections with an end in one of some networks.
    """

    def __init__(
        self,
        backend: Backend[H, W, G],
        wanted: W,
        delta: Any,
        changed: Collection[tuple[Kind, str]],
        sessions: Callable[[Iterable[str]], Sessions],
        read: Callable[[], H] | None = None,
    ) -> None:
        super().__init__(backend, wanted, read)
        self.delta = delta
        self.changed = changed
        self.sessions = sessions

    def changed_of(self, *kinds: Kind) -> list[tuple[Kind, str]]:
        """The changed objects of the first of these kinds that has any."""
        for kind in kinds:
            found = [key for key in self.changed if key[0] == kind]
            if found:
                return found
        return []


class PartBackend(Backend[Held, Wanted, D], Protocol[Held, Wanted, D]):
    """What does a registered part."""

    def effects(self, look: Any) -> Iterator[Effect]:
        """What it costs to do that (`Look`); of what is hitless nothing need be said."""
        ...

    def explain(self, found: Any, item: ConfigObject, told: Sequence[str]) -> Iterator[Line]:
        """What one object became, which `told` has in the words of the part, beside what the system has
        (`Comparison`). `by_difference` does for a part that has nothing more precise to say."""
        ...


def by_difference(part: str, found: Comparison[Any, Any, Any], told: Sequence[str]) -> Iterator[Line]:
    """By what the part would do now: when that is nothing, the system has what is wanted. It is said of the
    part as a whole."""
    texts = [f"{item.action} {item.what} {item.text}" for item in islice(found.difference.steps(), TOLD)]
    system = f"it differs; to be done: {'; '.join(texts)}" if found.difference else "it is so"
    for compiled in told or ("nothing",):
        yield Line(part, compiled, system, not found.difference)


def step(backend: str, action: Action, what: str, text: str) -> Step:
    return Step(backend, action, what, text)


def because(text: str, why: str | None) -> str:
    """What verification found, with what the kernel said when it was to be done."""
    return f"{text} ({why})" if why else text


def refuse(backend: str, wrong: Sequence[str]) -> None:
    """Raise `ApplyFailed` if verification found anything; the sentence has the first few."""
    if wrong:
        more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
        raise ApplyFailed(
            f"the kernel does not hold what was asked: {'; '.join(wrong[:3])}{more}",
            code="verify-failed",
            path=backend,
        )
