# SPDX-License-Identifier: Apache-2.0
"""Does a router that nothing ails say that it is well?

    python -m bench.healthy [IDLE_MINUTES [LOAD_MINUTES]]      10 and 2, as root

A router in network namespaces, looked at each 5 s as always: first without traffic, then with two TCP senders
as fast as they can, no queue in their way. Every finding is printed once, with the load average of that
moment: cores are those of the whole machine, so that what others do on it can be one. Exits with 1 where
there was a finding, or where more than a tenth of the looks that were due were not taken.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from io import StringIO

from lab.measure import bound
from tests.agent.rig import Rig, lan, running, wan

IDLE_MIN, LOAD_MIN = 10.0, 2.0
LOOK_S, ASK_S = 5.0, 2.5
LEAST_LOOKS = 0.9
"""Of those that are due; fewer were looks that came late."""
SENDERS = 2
FAR = "203.0.113.1"
CHUNK = bytes(1 << 18)


def main() -> int:
    idle_min, load_min = (
        float(sys.argv[place]) if len(sys.argv) > place else usual
        for place, usual in enumerate((IDLE_MIN, LOAD_MIN), 1)
    )
    return 0 if watched(idle_min, load_min) else 1


def watched(idle_min: float, load_min: float) -> bool:
    """Whether both spans had their looks and no finding."""
    with ExitStack() as stack:
        rig = stack.enter_context(running("--look-interval-s", f"{LOOK_S:g}"))
        rig.commit(lan(), wan())
        found = span(rig, "idle", idle_min * 60)
        with sending(rig) as passed:
            found = span(rig, "full load", load_min * 60) and found
            rate_bps = passed() * 8 / (load_min * 60)
        print(f"full load: {rate_bps / 1e9:.2f} Gbit/s of TCP in the mean")
        with redirect_stdout(StringIO()):  # the agent's log
            stack.close()
    return found


def span(rig: Rig, name: str, seconds: float) -> bool:
    """Asks for findings until it is over, and prints each when it is raised."""
    begun_s, first = time.monotonic(), samples(rig)
    seen: set[tuple[str, str]] = set()
    loads = []
    while (left_s := begun_s + seconds - time.monotonic()) > 0:
        answer = rig.agent.call("findings")
        loads.append(os.getloadavg()[0])
        for item in answer["findings"]:
            if (key := (item["code"], item["subject"])) not in seen:
                seen.add(key)
                when = f"{name}, {time.monotonic() - begun_s:.0f} s, load average {loads[-1]:.1f}"
                print(f"{when}: {item['code']}: {item['sentence']}", flush=True)
        time.sleep(min(ASK_S, left_s))
    looks, due = samples(rig) - first, seconds / LOOK_S
    print(
        f"{name}: {len(seen)} findings in {looks} looks ({due:.0f} were due), {seconds:.0f} s, "
        f"load average {min(loads):.1f} to {max(loads):.1f}",
        flush=True,
    )
    return not seen and looks >= due * LEAST_LOOKS - 1


def samples(rig: Rig) -> int:
    return int(rig.agent.call("findings")["samples"])


@contextmanager
def sending(rig: Rig) -> Iterator[Callable[[], int]]:
    """TCP of two senders behind the router to the other side of it; gives how many bytes came so far."""
    received = [0] * SENDERS
    with ExitStack() as stack:
        for number in range(SENDERS):
            listener = stack.enter_context(bound(rig.internet, FAR, kind=socket.SOCK_STREAM))
            listener.listen(1)
            near = stack.enter_context(bound(rig.client_ns, "10.64.0.2", kind=socket.SOCK_STREAM))
            near.connect(listener.getsockname())
            far = stack.enter_context(listener.accept()[0])
            for work in ((_send, near), (_receive, far, received, number)):
                thread = threading.Thread(target=work[0], args=work[1:])
                thread.start()
                stack.callback(thread.join)
            stack.callback(_end, near)
        yield lambda: sum(received)


def _send(near: socket.socket) -> None:
    with contextlib.suppress(OSError):  # shut down at the end
        while True:
            near.sendall(CHUNK)


def _receive(far: socket.socket, received: list[int], number: int) -> None:
    buffer = bytearray(1 << 18)
    while got := far.recv_into(buffer):
        received[number] += got


def _end(near: socket.socket) -> None:
    with contextlib.suppress(OSError):
        near.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    sys.exit(main())
