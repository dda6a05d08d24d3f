# SPDX-License-Identifier: Apache-2.0
"""No secret is told by any operation, in any form: not of the configuration, and not of people."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.http.test_log import entry
from tests.http.test_support_file import PASSWORD, of_accounts
from tests.http.told import Held, everything_told, fill, forms, text_for
from tests.http.world import Client, World
from tests.readable import readable_folder, shell_script
from weir.accounts import totp
from weir.kinds import DECLARED
from weir.store.clock import wall_ms

REFUSED = {"/diagnosis/why": "without a queue or an address"}


@pytest.fixture
def logged() -> Iterator[Path]:
    with readable_folder("told") as folder:
        yield folder


def keep_log(world: World, folder: Path, texts: Iterable[str]) -> int:
    """The journal's reader tells lines in which strangers repeat these in every form; how many they are."""
    lines = [f"a stranger said <{form.decode()}> here" for text in texts for form in sorted(forms(text))]
    entries = [json.dumps(entry(number, line)) for number, line in enumerate(lines)]
    (folder / "entries").write_text("".join(f"{line}\n" for line in reversed(entries)))
    (folder / "lines").write_text("".join(f"2026-11-27T11:00 router x[7]: {line}\n" for line in lines))
    world.agent.journal_reader = shell_script(
        folder,
        'case "$*" in *--field=*) echo weir-agent.service;; '
        f"*--output=json*) exec cat {folder}/entries;; *) exec cat {folder}/lines;; esac",
    )
    return len(lines)


def opened(world: World) -> None:
    """As what configures the system needs them."""
    for item in dict(world.agent.kernel).values():
        world.agent.secrets.texts(item)


def renewed(api: Client, held: list[Held]) -> tuple[list[str], list[str]]:
    """Each gets another text with a commit, and one more that is pending. A certificate keeps its key."""
    texts, pending, changes = [], [], []
    for number, item in enumerate(item for item in held if item.kind != "certificate"):
        second, third = (text_for(item.kind, item.secret, number + later) for later in (100, 200))
        before = api("GET", item.place).json
        after = api("PUT", item.place, item.body(second), etag=before["etag"])
        assert after.status_code == 200, (item.place, after.json)
        changes.append({"kind": item.kind, "id": before["id"], "new": item.body(third)})
        texts.append(second)
        pending.append(third)
    staged = api("PUT", "/candidate/changes", {"changes": changes})
    assert staged.status_code == 200, staged.json
    return texts, pending


def of_people(world: World, api: Client) -> list[str]:
    """Passwords, tokens, sessions and what is stored of them, a second factor's secret and its codes."""
    found = of_accounts(world, api)
    who = world.parts.service.auth.sign_in("anna", PASSWORD, "192.0.2.7").principal
    factor = world.parts.service.second_factor
    secret = factor.offer(who, "Weir").secret
    return [*found, secret, *factor.begin(who, PASSWORD, secret, totp.code_at(secret, wall_ms() // 30_000))]


def test_no_operation_tells_a_secret(
    world: World, api: Client, logged: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where a stranger repeated it in the log; nor does the router's own log."""
    caplog.set_level(logging.DEBUG)
    held = fill(api)
    assert {(item.kind, item.path) for item in held} == {
        (kind, path) for kind, declaration in DECLARED.items() for path in declaration.secrets
    }
    opened(world)
    committed, pending = renewed(api, held)
    opened(world)
    texts = [*(item.text for item in held), *committed]
    lines = keep_log(world, logged, texts)
    looked_for = {text: forms(text) for text in [*texts, *pending, *of_people(world, api)]}
    for place, status, data in everything_told(api):
        for text, written in looked_for.items():
            assert not any(form in data for form in written), (place, text)
        assert status == 200 or place in REFUSED, (place, data)
        if "/diagnosis/log" in place or place.endswith("log-product.txt"):
            assert data.count(b"a stranger said") == min(lines, 500), "the log was told"
    own = caplog.text.encode()
    assert b"config.commit" in own
    assert not [text for text, written in looked_for.items() if any(form in own for form in written)]


def test_a_refusal_and_what_a_candidate_says_do_not_repeat_a_secret(world: World, api: Client) -> None:
    """Nor does the trail have what was refused."""
    held = fill(api)
    long = "x" * 20_000
    for item in held:
        id_ = item.place.rpartition("/")[2]
        for wrong in (
            item.body([item.text]),
            item.body({"set": item.text}),
            item.body(item.text + long),
            {**item.body(item.text), "nonsense": item.text},
        ):
            change = {"kind": item.kind, "id": id_, "new": wrong}
            answers = [
                api("PUT", item.place, wrong, etag=api("GET", item.place).json["etag"]),
                api("PUT", "/candidate/changes", {"changes": [change]}),
            ]
            assert {answer.status_code for answer in answers} == {422}, [answer.json for answer in answers]
            told = b"".join(answer.data for answer in answers)
            assert not any(form in told for form in forms(item.text)), (item.place, told)
        change["new"] = item.body(item.text)
        assert api("PUT", "/candidate/changes", {"changes": [change]}).status_code == 200
    answers = [
        api("POST", "/candidate/validate"),
        api("POST", "/candidate/commit", {}),
        api("GET", "/system/audit"),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    told = b"".join(answer.data for answer in answers)
    assert not [item.place for item in held if any(form in told for form in forms(item.text))]
