# SPDX-License-Identifier: Apache-2.0
"""RAUC's boot loader backend on real environment files: whole, damaged, and cut while they are written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.agent.bundles import Bundler, missing_tools
from tests.agent.updating import UpdatingMachine
from weir.adapters.boot_parameters import BootParameters, Next
from weir.adapters.rauc import Rauc
from weir.model.problem import ApplyFailed, Unavailable

SCRIPT = Path(__file__).resolve().parents[2] / "board/overlay/usr/libexec/weir/boot-choice"
FILES = ("grubenv", "grubenv.copy")
BYTES = 1024
CUT = """set -T; n=0
trap '[[ $BASH_COMMAND != @(dd|mv|sync|grub-editenv)* ]] || [ $((n += 1)) -lt CUT ] || kill -KILL $$' DEBUG
"""
"""What a shell reads first, to be killed before it writes for the CUT-th time."""

pytestmark = pytest.mark.skipif(
    shutil.which("grub-editenv") is None, reason="grub-editenv is missing (Debian: grub-common)"
)


def grub(file: Path, *words: str) -> str:
    command = ["grub-editenv", str(file), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def listed(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in grub(file, "list").splitlines())


class Choice:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = [folder / name for name in FILES]
        self.reset()

    def reset(self) -> None:
        for file in self.files:
            grub(file, "create")
            grub(file, "set", "ORDER=A B", "A_OK=1", "A_TRY=1", "B_OK=0", "B_TRY=0")

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SCRIPT), *words],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "WEIR_BOOT_FOLDER": str(self.folder),
                "TMPDIR": str(self.folder.parent),
                **environment,
            },
            check=False,
        )

    def ask(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def values(self) -> dict[str, str]:
        first, second = map(listed, self.files)
        assert first == second
        return first


@pytest.fixture
def choice(tmp_path: Path) -> Choice:
    folder = tmp_path / "grub"
    folder.mkdir()
    return Choice(folder)


def test_the_choice_is_the_one_that_grub_makes(choice: Choice) -> None:
    assert choice.ask("get-primary") == "A"
    assert (choice.ask("get-state", "A"), choice.ask("get-state", "B")) == ("good", "bad")
    choice.ask("set-primary", "B")
    assert choice.ask("get-primary") == "B"
    assert choice.values() == {"ORDER": "B A", "A_OK": "1", "A_TRY": "1", "B_OK": "1", "B_TRY": "0"}
    grub(choice.files[0], "set", "B_TRY=3")
    assert choice.ask("get-primary") == "A"
    assert choice.ask("get-state", "B") == "bad", "GRUB does not start it any more"


def test_a_slot_is_marked(choice: Choice) -> None:
    choice.ask("set-state", "A", "bad")
    assert choice.values()["A_OK"] == "0"
    assert "no slot is good" in choice.run("get-primary").stderr
    choice.ask("set-state", "A", "good")
    assert choice.values() == {"ORDER": "A B", "A_OK": "1", "A_TRY": "0", "B_OK": "0", "B_TRY": "0"}


OWN = "lhash_entries=131072 preempt=full"


def started_with(tmp_path: Path, words: str) -> str:
    told = tmp_path / "command-line"
    told.write_text(f"BOOT_IMAGE=x rauc.slot=A {words} bonding.max_bonds=0\n")
    return str(told)


def test_own_parameters_are_new_until_a_start_and_good_when_the_system_says_so(
    choice: Choice, tmp_path: Path
) -> None:
    assert choice.ask("get-parameters") == "none"
    choice.ask("set-parameters", OWN)
    assert choice.ask("get-parameters") == f"new {OWN}"
    assert choice.run("set-state", "A", "good", WEIR_COMMAND_LINE=started_with(tmp_path, "")).returncode == 0
    assert choice.ask("get-parameters") == f"new {OWN}", "this start has not tried them"
    for file in choice.files:
        grub(file, "set", "PARAMETERS_TRY=1")
    choice.ask("set-parameters", OWN)
    assert choice.ask("get-parameters") == f"tried {OWN}", "the same once more begins no other trial"
    running = started_with(tmp_path, OWN)
    assert choice.run("set-state", "A", "bad", WEIR_COMMAND_LINE=running).returncode == 0
    assert choice.ask("get-parameters") == f"tried {OWN}"
    assert choice.run("set-state", "A", "good", WEIR_COMMAND_LINE=running).returncode == 0
    assert choice.ask("get-parameters") == f"good {OWN}"
    choice.ask("set-primary", "B")
    assert choice.ask("get-parameters") == f"good {OWN}", "a change of the slots keeps them"
    choice.ask("set-parameters", "preempt=none")
    assert choice.ask("get-parameters") == "new preempt=none"
    choice.ask("set-parameters", "")
    assert "PARAMETERS" not in choice.values()


@pytest.mark.parametrize(
    "words", ["a=$b", "a=`b`", "a='b'", 'a="b"', "a=b;c", "a=b\nORDER=B", "ä=b", "x" * 301]
)
def test_what_grub_would_not_take_for_parameters_is_refused(choice: Choice, words: str) -> None:
    before = choice.values()
    done = choice.run("set-parameters", words)
    assert done.returncode == 1
    assert "kernel parameters" in done.stderr
    assert choice.values() == before


def test_the_longest_parameters_are_in_the_first_sector_with_the_rest(choice: Choice) -> None:
    longest = " ".join(["setting=value"] * 22)[:300]
    choice.ask("set-parameters", longest)
    assert choice.ask("get-parameters") == f"new {longest}"
    for file in choice.files:
        assert file.read_bytes()[512:] == b"#" * 512


def test_the_agent_s_words_reach_the_boot_loader_and_its_answer_the_agent(
    choice: Choice, tmp_path: Path
) -> None:
    """The script of the unit between both, run as systemd does."""
    wanted, told = tmp_path / "wanted", tmp_path / "told"
    script = SCRIPT.with_name("boot-parameters")

    def handed_over(argv: Sequence[str]) -> None:
        assert list(argv) == ["systemctl", "start", "weir-boot-parameters.service"]
        environment = {**os.environ, "WEIR_BOOT_FOLDER": str(choice.folder)}
        subprocess.run([script, wanted, told], check=True, env=environment)

    agent = BootParameters(wanted, told, handed_over)
    assert not agent.were_set()
    assert agent.next() == Next("none")
    agent.set(OWN.split())
    assert agent.next() == Next("new", tuple(OWN.split()))
    assert choice.ask("get-parameters") == f"new {OWN}"
    with pytest.raises(ApplyFailed, match="no boot parameter"):
        agent.set(["preempt=full quiet"])
    with pytest.raises(ApplyFailed, match="characters"):
        agent.set([f"x={'y' * 60}"] * 5)
    agent.set([])
    assert agent.next() == Next("none")
    shutil.rmtree(choice.folder)
    agent.set(OWN.split())
    with pytest.raises(Unavailable, match="the boot loader said"):
        agent.next()


@pytest.mark.parametrize("damage", [b"", bytes(BYTES), b"# GRUB Environment Block\n", b"x" * BYTES, None])
@pytest.mark.parametrize("damaged", FILES)
def test_a_damaged_file_is_recreated_from_the_other(
    choice: Choice, damaged: str, damage: bytes | None
) -> None:
    file = choice.folder / damaged
    file.unlink()
    if damage is not None:
        file.write_bytes(damage)
    assert choice.ask("get-primary") == "A"
    choice.ask("set-state", "A", "good")
    assert choice.values() == {"ORDER": "A B", "A_OK": "1", "A_TRY": "0", "B_OK": "0", "B_TRY": "0"}
    assert {name.name for name in choice.folder.iterdir()} == set(FILES)


def test_without_any_file_an_update_still_chooses_its_slot(choice: Choice) -> None:
    for file in choice.files:
        file.write_bytes(b"")
    assert choice.run("get-primary").returncode == 1
    choice.ask("set-primary", "B")
    assert choice.values() == {"ORDER": "B A", "A_OK": "0", "A_TRY": "0", "B_OK": "1", "B_TRY": "0"}


def test_a_file_is_changed_in_its_place_and_in_one_sector_of_it(choice: Choice) -> None:
    before = [(file.stat().st_ino, file.read_bytes()) for file in choice.files]
    choice.ask("set-primary", "B")
    for file, (inode, content) in zip(choice.files, before, strict=True):
        assert file.stat().st_ino == inode
        assert file.read_bytes()[512:] == content[512:] == b"#" * 512


@pytest.mark.parametrize(("damaged", "wanted"), [(None, 4), ("grubenv", 6), ("grubenv.copy", 6)])
def test_wherever_it_is_cut_a_choice_is_left_and_the_next_one_heals_it(
    choice: Choice, tmp_path: Path, damaged: str | None, wanted: int
) -> None:
    """Before each command that writes."""
    stop = tmp_path / "cut.sh"
    for cut in range(1, wanted + 2):
        choice.reset()
        if damaged is not None:
            (choice.folder / damaged).write_bytes(b"")
        stop.write_text(CUT.replace("CUT", str(cut)))
        code = choice.run("set-primary", "B", BASH_ENV=str(stop)).returncode
        assert code == (-signal.SIGKILL if cut <= wanted else 0), cut
        assert choice.ask("get-primary") in "AB"
        choice.ask("set-state", "A", "good")
        assert choice.values()["ORDER"] in ("A B", "B A")


@pytest.mark.parametrize(
    "words", [(), ("get-state", "C"), ("set-state", "A", "fine"), ("set-primary", "../A")]
)
def test_what_is_not_asked_right_changes_nothing(choice: Choice, words: tuple[str, ...]) -> None:
    before = [file.read_bytes() for file in choice.files]
    assert choice.run(*words).returncode == 1
    assert [file.read_bytes() for file in choice.files] == before


@pytest.mark.skipif(bool(missing_tools()), reason=f"missing: {', '.join(missing_tools())}")
def test_rauc_has_the_choice_made_by_it_and_heals_what_is_damaged(choice: Choice) -> None:
    """RAUC's real service with the image's own configuration; the slots are files that nobody writes."""
    folder = choice.folder
    slots = {name: folder / name for name in ("system_A", "kernel_A", "system_B", "kernel_B")}
    for path in slots.values():
        path.write_bytes(b"")
    config = Bundler(folder).config(**slots)
    with ExitStack() as stack:
        machine = UpdatingMachine(stack, config, folder, data=folder, boot=folder)
        told = machine.call("updates")
        assert (told["booted"], told["next"]) == ("A", "A")
        assert {slot["name"]: slot["good"] for slot in told["slots"]} == {"A": True, "B": False}
        Rauc(config).mark("good", "booted")
        assert choice.values()["A_TRY"] == "0"
        choice.files[0].write_bytes(b"")
        Rauc(config).mark("active", "other")
        assert choice.values() == {"ORDER": "B A", "A_OK": "1", "A_TRY": "0", "B_OK": "1", "B_TRY": "0"}
        assert machine.call("updates")["next"] == "B"
        subprocess.run(["rauc", f"--conf={config}", "status", "mark-bad", "other"], check=True)
        assert choice.values()["B_OK"] == "0"
        assert machine.call("updates")["next"] == "A"


@pytest.mark.skipif(bool(missing_tools()), reason=f"missing: {', '.join(missing_tools())}")
@pytest.mark.parametrize("content", [b"", bytes(221), b"# No slot was written yet.\n"])
def test_rauc_goes_on_with_a_file_of_the_slots_that_tells_nothing(choice: Choice, content: bytes) -> None:
    """What a power cut leaves of the first one, and what the image puts in its place (libexec/weir/data)."""
    folder = choice.folder
    slots = {name: folder / name for name in ("system_A", "kernel_A", "system_B", "kernel_B")}
    for path in slots.values():
        path.write_bytes(b"")
    config = Bundler(folder).config(**slots)
    (folder / "central.status").write_bytes(content)
    with ExitStack() as stack:
        machine = UpdatingMachine(stack, config, folder, data=folder, boot=folder)
        told = machine.call("updates")
        assert {slot["name"]: slot["version"] for slot in told["slots"]} == {"A": None, "B": None}
        Rauc(config).mark("active", "other")
        assert machine.call("updates")["next"] == "B"
    assert b"[slot.system.1]" in (folder / "central.status").read_bytes()
