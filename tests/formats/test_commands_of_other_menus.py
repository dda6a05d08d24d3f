# SPDX-License-Identifier: Apache-2.0
"""Commands that look like the heading of a section are listed, and the section before them goes on."""

from __future__ import annotations

import pytest

from weir.formats import read


@pytest.mark.parametrize(
    "command",
    [
        "/system reboot",
        "/log info x",
        "/quit",
        "/tool wol",
        "/system script run x",
        "/vendor thing frobnicate",
    ],
)
def test_a_command_without_properties_is_no_heading(command: str) -> None:
    text = f"/queue simple\nadd name=a target=10.0.0.1\n{command}\n\n# more\n/ip pool\nadd name=p\n"
    report = read("routeros", {"export.rsc": text.encode()})
    left = [line for line in report.lines if line.fate == "left-out"]
    assert left[0].number == 3
    assert report.silent_lines == 4


@pytest.mark.parametrize("command", ["/system reboot", "/log info x"])
def test_a_section_goes_on_after_such_a_command(command: str) -> None:
    text = f"/queue simple\nadd name=a target=10.0.0.1\n{command}\nadd name=b target=10.0.0.2\n"
    report = read("routeros", {"export.rsc": text.encode()})
    assert [queue.name for queue in report.queues] == ["a", "b"]


@pytest.mark.parametrize("heading", ["/queue simple", "/queue/simple", "/queue type", "queue simple"])
def test_an_empty_section_of_queues_is_silent(heading: str) -> None:
    assert list(read("routeros", {"export.rsc": f"{heading}\n".encode()}).lines) == []


def test_a_heading_of_an_unknown_menu_opens_it() -> None:
    text = "/queue simple\n/vendor thing\nadd name=b target=10.0.0.2\n"
    report = read("routeros", {"export.rsc": text.encode()})
    assert list(report.queues) == []
    assert [line.code for line in report.lines] == ["other-section"]


def test_two_customers_that_host_bits_make_one_prefix_are_both_warned() -> None:
    text = (
        "/queue simple\nadd name=anna target=10.0.0.5/24\nadd name=bert target=10.0.0.6/24\n"
        "add name=carl target=10.0.1.0/24\nadd name=dora target=10.0.1.0/24\n"
    )
    report = read("routeros", {"export.rsc": text.encode()})
    anna, bert, carl, dora = report.lines
    for line in (anna, bert):
        assert (line.fate, line.code) == ("warning", "merged-by-host-bits")
        assert "anna" in line.reason
        assert "bert" in line.reason
        assert "10.0.0.5/24" in line.reason
    assert carl.code == dora.code == "ok"
