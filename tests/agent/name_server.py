# SPDX-License-Identifier: Apache-2.0
"""A name server in a namespace, a real unbound, whose records a test changes and that a test keeps silent."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import netns
from tests.agent.rig import Rig
from tests.polling import until


@dataclass
class NameServer:
    """It knows these names below `example` and no other."""

    process: subprocess.Popen[bytes]
    conf: Path
    namespace: str

    def says(self, name: str, *addresses: str, ttl_s: int = 300) -> None:
        """From now on; without addresses there is no such name."""
        self._tell("local_data_remove", name)
        for address in addresses:
            self._tell("local_data", name, str(ttl_s), "IN", "AAAA" if ":" in address else "A", address)

    def says_many(self, records: Iterable[tuple[str, str]]) -> None:
        """More than it says already, of IPv4."""
        lines = "".join(f"{name} 300 IN A {address}\n" for name, address in records)
        self._control("local_datas", said=lines)

    def forget_many(self, names: Iterable[str]) -> None:
        self._control("local_datas_remove", said="".join(f"{name}\n" for name in names))

    def refuse(self, name: str) -> None:
        self._tell("local_zone", name, "always_refuse")

    def answer_again(self, name: str) -> None:
        self._tell("local_zone_remove", name)

    def be_silent(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def speak(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def _tell(self, *words: str) -> None:
        self._control(*words)

    def _control(self, *words: str, said: str = "") -> str:
        command = ("unbound-control", "-c", str(self.conf), *words)
        done = subprocess.run(command, input=said, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"{' '.join(words)}: {done.stdout or done.stderr}")
        return done.stdout

    def is_up(self) -> bool:
        try:
            return "running" in self._control("status")
        except AssertionError:
            return False


@contextmanager
def name_server(rig: Rig, address: str) -> Iterator[NameServer]:
    folder = rig.folder / "names"
    folder.mkdir(exist_ok=True)
    conf = folder / "unbound.conf"
    lines = [
        *("server:", 'chroot: ""', 'username: ""', 'pidfile: ""', f'directory: "{folder}"'),
        *("use-syslog: no", 'logfile: ""', "access-control: 0.0.0.0/0 allow", 'module-config: "iterator"'),
        *(f"interface: {address}", "ip-freebind: yes", 'local-zone: "." static'),
        *("remote-control:", "control-enable: yes", f'control-interface: "{folder}/control"'),
        "control-use-cert: no",
    ]
    conf.write_text("\n".join([*lines, ""]))
    process = rig.spawn("names", ("unbound", "-d", "-p", "-c", str(conf)), netns.entering(rig.internet))
    made = NameServer(process, conf, rig.internet)
    try:
        until("the name server runs", made.is_up)
        yield made
    finally:
        made.speak()
        process.terminate()
        process.wait(10)
