# SPDX-License-Identifier: Apache-2.0
"""A daemon for tests: it checks its file, reads it again at SIGHUP, and tells on a socket what it has.

python toy_daemon.py check FOLDER
python toy_daemon.py run FOLDER SOCKET

FOLDER/toy.conf is a word. The checker refuses `refuse`, and hangs at `endless-check`. It takes `die` and
`hang`: the daemon ends, or answers nobody any more, when it reads them. `ignore` is read and not taken over.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path


def word_in(folder: str) -> str:
    return (Path(folder) / "toy.conf").read_text(encoding="utf-8").strip()


def check(folder: str) -> int:
    word = word_in(folder)
    if word == "endless-check":
        time.sleep(60)
    if word == "refuse":
        print("toy.conf: line 1: refuse is no word that I know")
        return 1
    return 0


class Toy:
    def __init__(self, folder: str, path: str) -> None:
        self.folder, self.has, self.reads = folder, "", 0
        Path(path).unlink(missing_ok=True)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen()
        signal.signal(signal.SIGHUP, lambda _number, _frame: self.load())

    def load(self) -> None:
        word = word_in(self.folder)
        self.reads += 1
        if word == "die":
            print("toy: out of cheese", flush=True)
            os._exit(3)
        if word == "hang":
            print("toy: I stop here", flush=True)
            time.sleep(60)
        if word != "ignore":
            self.has = word

    def run(self) -> None:
        self.load()
        while True:
            client, _ = self.server.accept()
            with client:
                answer = {"has": self.has, "reads": self.reads, "pid": os.getpid()}
                client.sendall(json.dumps(answer).encode())


if __name__ == "__main__":
    if sys.argv[1] == "check":
        sys.exit(check(sys.argv[2]))
    Toy(sys.argv[2], sys.argv[3]).run()
