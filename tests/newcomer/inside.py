# SPDX-License-Identifier: Apache-2.0
"""A newcomer's first minutes in a bare Debian: `python -m tests.newcomer.inside bookworm|trixie`.

To be started by `apart.start`, as the first process of its own namespaces: the tree lies in memory, and the
kernel removes it and all that runs in it with this process, however that ends. The network is the host's.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab import plan
from lab.measure import poll
from tests.newcomer import machine
from tests.router import free_port
from tests.run import FAILED_TEST, MOST_AGAIN

FOLDER = plan.BUILD / "newcomer"
CLONE = "root/weir"
SIZE = "8g"
"""At most; 3.1 GB are used."""
ANSWERS_WITHIN_S = 780.0
ENDS_WITHIN_S = 60.0
OTHER_FRR = ("trixie",)
"""Has FRR 10, which a machine with Debian 12 has not: what speaks with FRR is tested there, too."""
ROUTING_TESTS = ("tests/agent/test_bgp.py", "tests/agent/test_ospf.py", "tests/agent/test_kernel_routes.py")
TESTED_WITHIN_S = 400.0
"""They take a minute and a half on idle processors."""
UNSTEADY = "unsteady, failed with this FRR and passed again alone: "
URL = re.compile(r"Weir is running at (http://\S+)")
SIGN_IN = re.compile(r"sign in as (\S+) with the one-time password (\S+)")


def main() -> None:
    release = sys.argv[1]
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for `make run`
    tree = FOLDER / release
    tree.mkdir(parents=True, exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "weir-newcomer", str(tree))
    bare(release, tree)
    run("git", "clone", "--quiet", "--no-hardlinks", str(plan.ROOT), str(tree / CLONE))
    make_run(tree)
    if release in OTHER_FRR:
        routing_tested(tree)
    poll(lambda: not left_behind(tree), ENDS_WITHIN_S)
    left = left_behind(tree)
    assert not left, f"left behind: {left}"
    tell("nothing is left of the lab")


def bare(release: str, tree: Path) -> None:
    """Debian's minimum with make and git, and with this machine's way to its packages."""
    tell(f"making a bare Debian {release}")
    debs = FOLDER / "cache" / release
    debs.mkdir(parents=True, exist_ok=True)
    options = ["--variant=minbase", "--include=make,git", f"--cache-dir={debs}"]
    with (FOLDER / f"{release}-debootstrap.log").open("wb") as log:
        command = ["debootstrap", *options, release, str(tree), machine.mirror()]
        subprocess.run(command, stdout=log, stderr=log, check=True)
    machine.copy_settings(tree)
    for kind, place in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "run"), ("tmpfs", "tmp")):
        run("mount", "-t", kind, kind, str(tree / place))
    run("mount", "-t", "bpf", "bpf", str(tree / "sys/fs/bpf"))
    run("mount", "--rbind", "/dev", str(tree / "dev"))
    run("mount", "--bind", str(debs), str(tree / "var/cache/apt/archives"))
    for name in machine.CACHES_AT_HOME:
        (Path.home() / name).mkdir(parents=True, exist_ok=True)
        (tree / "root" / name).mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", str(Path.home() / name), str(tree / "root" / name))


def make_run(tree: Path) -> None:
    """`make run`, a visit to its page, a sign-in, Ctrl-C."""
    begun_s = time.monotonic()
    running = started(tree, 'exec make run PORT="$1"', str(free_port()))
    assert running.stdout is not None
    with ended_after(running, ANSWERS_WITHIN_S):
        said = list(until_signed_in(iter(running.stdout.readline, "")))
        url = URL.search("".join(said))
        found = SIGN_IN.search("".join(said))
        assert url and found, f"`make run` did not tell how to sign in; status {running.wait()}"
        user, password = found.groups()
        visit(url[1], user, password)
    tell(f"answered after {time.monotonic() - begun_s:.0f} s")
    os.killpg(running.pid, signal.SIGINT)
    with ended_after(running, ENDS_WITHIN_S):
        for line in running.stdout:
            tell(line.rstrip())
        running.wait()


def routing_tested(tree: Path) -> None:
    """One neighbour changes and the others stay up, a daemon dies or hangs: with this release's FRR. The few
    that fail run once more, as those of `tests.run` do."""
    begun_s = time.monotonic()
    code, failed = tested(tree, ROUTING_TESTS)
    if 0 < len(failed) <= MOST_AGAIN:
        code, _ = tested(tree, failed)
        if code == 0:
            tell(UNSTEADY + ", ".join(failed))
    assert code == 0, f"failed with this FRR: {', '.join(failed) or f'status {code}'}"
    tell(f"tested with this FRR in {time.monotonic() - begun_s:.0f} s")


def tested(tree: Path, tests: Sequence[str]) -> tuple[int, list[str]]:
    """pytest's status and the tests that failed."""
    words = 'dpkg-query -W frr bird2 && exec build/venv/bin/pytest -q -p no:cacheprovider "$@"'
    running = started(tree, words, *tests)
    assert running.stdout is not None
    failed = []
    with ended_after(running, TESTED_WITHIN_S):
        for line in running.stdout:
            tell(line.rstrip())
            if found := FAILED_TEST.fullmatch(line.rstrip()):
                failed.append(found[1])
        return running.wait(), failed


def started(tree: Path, words: str, *arguments: str) -> subprocess.Popen[str]:
    """A shell's words in the clone, `$1` and on being the arguments, as a newcomer there says them."""
    return subprocess.Popen(
        ["chroot", str(tree), "bash", "-c", f"cd /{CLONE} && {words}", "newcomer", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=machine.environment(),
        start_new_session=True,
        text=True,
    )


def until_signed_in(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        tell(line.rstrip())
        yield line
        if SIGN_IN.search(line):
            return


def visit(url: str, user: str, password: str) -> None:
    """The page comes with its scripts, and the printed password signs in."""
    with urllib.request.urlopen(url, timeout=30) as page:
        scripts = re.findall(r'src="(/[^"]+\.js)"', page.read().decode())
    assert scripts, f"the page of {url} names no script"
    for script in scripts:
        with urllib.request.urlopen(url + script, timeout=30) as answer:
            assert answer.read(), f"{script} is empty"
    body = json.dumps({"username": user, "password": password}).encode()
    request = urllib.request.Request(f"{url}/api/v1/auth/sign-in", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert json.load(answer)["user"]["username"] == user


@contextmanager
def ended_after(running: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    """A newcomer who waits for longer gives up: then all that it started is ended."""

    def end() -> None:
        tell(f"ended: it took longer than {seconds:.0f} s")
        os.killpg(running.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def left_behind(tree: Path) -> list[str]:
    """Processes, named namespaces, the lab's folders and mounts that outlived it."""
    while orphans_ended():
        pass
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    others = (path.name for path in Path("/proc").glob("[0-9]*") if int(path.name) != os.getpid())
    return [
        *(f"process {number}" for number in others),
        *(f"namespace {path.name}" for path in (tree / "run/netns").glob("*")),
        *(str(path) for path in (tree / "run/weir-lab", tree / CLONE / "build/lab.json") if path.exists()),
        *(line for line in mounts if "weir-lab" in line),
    ]


def orphans_ended() -> bool:
    """The first process has to wait for those whose parent is gone; whether there was one."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def tell(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    main()
