# SPDX-License-Identifier: Apache-2.0
"""What is made quickly is what dataclasses would have made."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from weir.compiler.types import ClassSpec, ClockSpec
from weir.model.document import Change
from weir.model.objects import Queue
from weir.model.quick_init import quick_init


@dataclass(frozen=True, slots=True)
class Slow:
    """A thing."""

    id: str
    size: int = 3
    of: tuple[str, ...] = ()


@quick_init
@dataclass(frozen=True, slots=True)
class Quick:
    """A thing."""

    id: str
    size: int = 3
    of: tuple[str, ...] = ()


@pytest.mark.parametrize("given", [("a",), ("a", 4), ("a", 4, ("b",))])
def test_fields_and_defaults(given: tuple[object, ...]) -> None:
    slow, quick = Slow(*given), Quick(*given)  # type: ignore[arg-type]
    assert [getattr(quick, one.name) for one in fields(quick)] == [
        getattr(slow, one.name) for one in fields(slow)
    ]
    assert repr(quick) == repr(slow).replace("Slow", "Quick")


@pytest.mark.parametrize("given", [{}, {"size": 1}, {"id": "a", "colour": "red"}])
def test_what_is_wrong_is_said_alike(given: dict[str, object]) -> None:
    said = []
    for made in (Slow, Quick):
        with pytest.raises(TypeError) as error:
            made(**given)  # type: ignore[arg-type]
        said.append(str(error.value).replace(made.__name__, ""))
    assert said[0] == said[1]


def test_it_is_frozen_and_documented_as_before() -> None:
    with pytest.raises(FrozenInstanceError):
        Quick("a").size = 4  # type: ignore[misc]
    assert str(inspect.signature(Quick)) == str(inspect.signature(Slow))
    assert Quick.__init__.__qualname__ == "Quick.__init__"


@pytest.mark.parametrize("made", [Queue, Change, ClassSpec])
def test_what_is_made_by_the_hundred_thousand_is_made_quickly(made: type) -> None:
    assert "set_" in " ".join(made.__init__.__code__.co_names)


def test_a_queue_and_a_class_are_whole() -> None:
    queue = Queue(id="a", name="A", target=("10.0.0.0/8",), position=4)
    assert pickle.loads(pickle.dumps(queue)) == queue == replace(replace(queue, name="B"), name="A")
    clock = ClockSpec(1_000_000, 1500)
    assert replace(ClassSpec(1, "a", 0, 0, clock, clock), depth=2).depth == 2


def test_a_class_that_does_more_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Checked:
        id: str

        def __post_init__(self) -> None:
            assert self.id

    @dataclass(frozen=True, slots=True)
    class Made:
        of: list[str] = field(default_factory=list)

    for cls in (Checked, Made):
        with pytest.raises(TypeError, match="does more"):
            quick_init(cls)
