# SPDX-License-Identifier: Apache-2.0
"""A day of figures by the minute: also after a restart, on a bad disk and with a clock that is set."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.small_disk import SmallDisk
from weir.stats import figures
from weir.stats.figure_file import FigureFile
from weir.stats.figures import MINUTES, MOST_FIGURES, PATIENCE, FigureBook

NOON = 28_333_333
"""A minute."""


def book_of(path: Path | None = None) -> FigureBook:
    return FigureBook(FigureFile(path), ["dropped"])


def pass_minutes(book: FigureBook, minutes: range, found: Mapping[str, float] | None = None) -> None:
    """A value in each, that of the minute's number where none is given; the last one is over, too."""
    for minute in minutes:
        book.take(minute * 60.0, {"cores": float(minute - NOON)} if found is None else found)
    book.take((minutes[-1] + 1) * 60.0, {})


def values(book: FigureBook, name: str, minutes: int, until: int) -> list[float | None]:
    """Of the minutes that end with this one."""
    first, series = book.read([name], minutes, (until + 1) * 60.0)
    assert first == until + 1 - minutes
    return series[0].values if series else [None] * minutes


def test_a_minute_has_the_mean_and_the_most_and_sums_add_up() -> None:
    book = book_of()
    for second, (busy, most) in enumerate([(0.2, 0.5), (0.4, 0.9), (0.6, 0.6)]):
        book.take(NOON * 60.0 + second, {"cores": busy, "dropped": 5}, {"cores": most})
    book.take((NOON + 1) * 60.0, {"cores": 1.0})
    _, series = book.read(["cores", "dropped"], 2, (NOON + 1) * 60.0)
    found = {one.key: one for one in series}
    assert found["cores"].values == [None, pytest.approx(0.4)]
    assert found["cores"].most == [None, pytest.approx(0.9)]
    assert found["dropped"].values == [None, 15.0]


def test_a_minute_that_was_not_measured_is_empty_and_never_zero() -> None:
    book = book_of()
    pass_minutes(book, range(NOON, NOON + 1))
    pass_minutes(book, range(NOON + 3, NOON + 4), {"memory": 0.0})
    assert values(book, "cores", 4, NOON + 3) == [0.0, None, None, None]
    assert values(book, "memory", 4, NOON + 3) == [None, None, None, 0.0]


def test_subjects_of_a_figure_are_series_of_their_own() -> None:
    book = book_of()
    pass_minutes(book, range(NOON, NOON + 1), {"core/0": 0.25, "core/1": 0.5, "core-squeezed/0": 7.0})
    _, series = book.read(["core"], 1, (NOON + 1) * 60.0)
    assert {one.key: one.values for one in series} == {"core/0": [0.25], "core/1": [0.5]}


def test_a_day_is_kept_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "figures.db"
    book = book_of(path)
    pass_minutes(book, range(NOON, NOON + MINUTES + 5))
    found = values(book, "cores", MINUTES, NOON + MINUTES + 4)
    assert found == [float(number) for number in range(5, MINUTES + 5)]
    book.close()
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*), min(minute) FROM figures").fetchone() == (MINUTES, NOON + 5)
    database.close()


def test_figures_outlive_a_restart_but_for_the_minute_that_had_begun(tmp_path: Path) -> None:
    path = tmp_path / "figures.db"
    book = book_of(path)
    pass_minutes(book, range(NOON + 1, NOON + 4))
    book.take((NOON + 4) * 60.0 + 30, {"cores": 9.0})
    book.close()
    again = book_of(path)
    pass_minutes(again, range(NOON + 6, NOON + 7))
    assert values(again, "cores", 6, NOON + 6) == [1.0, 2.0, 3.0, None, None, 6.0]
    assert again.problems == []


@pytest.mark.parametrize("damage", ["no database", "a page"])
def test_a_damaged_file_is_told_and_begun_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "figures.db"
    book = book_of(path)
    pass_minutes(book, range(NOON, NOON + 200), {f"core/{number}": 0.5 for number in range(50)})
    book.close()
    content = bytearray(path.read_bytes())
    assert len(content) > 16_384
    place = slice(0, 100) if damage == "no database" else slice(8192, len(content))
    content[place] = bytes(0x5A for _ in content[place])
    path.write_bytes(content)
    again = book_of(path)
    assert len(again.problems) == 1 and f"{path} was damaged (" in again.problems[0]
    pass_minutes(again, range(NOON + 300, NOON + 302))
    again.close()
    assert values(book_of(path), "cores", 3, NOON + 301) == [None, 300.0, 301.0]


def test_a_damaged_row_takes_no_other_with_it(tmp_path: Path) -> None:
    path = tmp_path / "figures.db"
    book = book_of(path)
    pass_minutes(book, range(NOON, NOON + 3))
    book.close()
    database = sqlite3.connect(path)
    with database:
        (row,) = database.execute("SELECT row FROM figures WHERE minute = ?", (NOON + 1,)).fetchone()
        database.execute("UPDATE figures SET row = ? WHERE minute = ?", (row[:-4] + b"zzzz", NOON + 1))
    database.close()
    again = book_of(path)
    assert values(again, "cores", 3, NOON + 2) == [0.0, None, 2.0]
    assert again.problems == [f"1 of the minutes in {path} is damaged"]


def test_a_file_that_is_deleted_meanwhile_is_written_again_whole(tmp_path: Path) -> None:
    path = tmp_path / "figures.db"
    book = book_of(path)
    pass_minutes(book, range(NOON, NOON + 3))
    for found in tmp_path.iterdir():
        found.unlink()
    pass_minutes(book, range(NOON + 3, NOON + 4))
    book.close()
    assert values(book_of(path), "cores", 4, NOON + 3) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("bad", ["full", "read-only"])
def test_what_a_bad_disk_does_not_take_waits_in_memory(tmp_path: Path, bad: str) -> None:
    with SmallDisk(tmp_path / "disk", "256k") as disk:
        path = disk.folder / "figures.db"
        book = book_of(path)
        pass_minutes(book, range(NOON, NOON + 2))
        disk.fill()
        if bad == "read-only":
            book.close()
            disk.forbid()
            book = book_of(path)
        many = {f"core/{number}": number / 7 for number in range(300)}
        pass_minutes(book, range(NOON + 2, NOON + 42), many)
        assert len(book.problems) == 1 and f"cannot be kept in {path}" in book.problems[0]
        assert values(book, "core", 1, NOON + 41) == [0.0]
        disk.free()
        pass_minutes(book, range(NOON + 42, NOON + 43))
        assert book.problems == []
        book.close()
        again = book_of(path)
        assert values(again, "core", 41, NOON + 42) == [0.0] * 40 + [None]
        again.close()


def test_a_file_that_cannot_be_opened_is_told_and_figures_are_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "no-folder" / "figures.db"
    book = book_of(path)
    pass_minutes(book, range(NOON, NOON + 2))
    assert f"figures cannot be kept in {path}" in book.problems[0]
    assert values(book, "cores", 2, NOON + 1) == [0.0, 1.0]
    path.parent.mkdir()
    pass_minutes(book, range(NOON + 2, NOON + 3))
    assert book.problems == []
    book.close()
    assert values(book_of(path), "cores", 3, NOON + 2) == [0.0, 1.0, 2.0]


def test_a_clock_set_forward_leaves_a_gap() -> None:
    book = book_of()
    pass_minutes(book, range(NOON, NOON + 2))
    pass_minutes(book, range(NOON + 60, NOON + 62))
    assert values(book, "cores", 62, NOON + 61) == [0.0, 1.0, *[None] * 58, 60.0, 61.0]
    pass_minutes(book, range(NOON + 9_999, NOON + 10_000))
    assert values(book, "cores", MINUTES, NOON + 9_999) == [*[None] * (MINUTES - 1), 9_999.0]


def test_a_clock_set_back_hides_what_is_to_come_and_later_removes_it(tmp_path: Path) -> None:
    book = book_of(tmp_path / "figures.db")
    pass_minutes(book, range(NOON, NOON + 100))
    pass_minutes(book, range(NOON + 20, NOON + 22), {"cores": 7.0})
    assert values(book, "cores", 4, NOON + 21) == [18.0, 19.0, 7.0, 7.0]
    assert values(book, "cores", 1, NOON + 50) == [50.0], "it may only be a clock that is soon set"
    pass_minutes(book, range(NOON + 22, NOON + 20 + PATIENCE), {"cores": 7.0})
    assert values(book, "cores", 1, NOON + 50) == [None]
    book.close()
    assert values(book_of(tmp_path / "figures.db"), "cores", 1, NOON + 50) == [None]


def test_a_clock_that_is_wrong_for_some_minutes_after_a_start_costs_nothing(tmp_path: Path) -> None:
    book = book_of(tmp_path / "figures.db")
    pass_minutes(book, range(NOON, NOON + 5))
    book.close()
    again = book_of(tmp_path / "figures.db")
    pass_minutes(again, range(100, 100 + PATIENCE - 1))
    pass_minutes(again, range(NOON + 7, NOON + 8))
    assert values(again, "cores", 8, NOON + 7) == [0.0, 1.0, 2.0, 3.0, 4.0, None, None, 7.0]


def test_more_figures_than_fit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST_FIGURES", 4)
    book = book_of()
    pass_minutes(book, range(NOON, NOON + 1), {f"core/{number}": 0.5 for number in range(7)})
    assert book.problems == ["3 figures are left out: a minute has 4 at most"]
    assert len(book.read(["core"], 1, (NOON + 1) * 60.0)[1]) == 4
    pass_minutes(book, range(NOON + 1, NOON + 2))
    assert book.problems == []


def test_a_day_of_as_many_as_there_may_be_takes_little_room(tmp_path: Path) -> None:
    path = tmp_path / "figures.db"
    book = book_of(path)
    found = {f"core-packets/{number}": 1000 / (number + 3) for number in range(MOST_FIGURES)}
    pass_minutes(book, range(NOON, NOON + 120), found)
    book.close()
    assert path.stat().st_size < 120 * 6144
