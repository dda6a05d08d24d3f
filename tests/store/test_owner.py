# SPDX-License-Identifier: Apache-2.0
"""A root process touches the files of the API's user as that user: links and journals lead nowhere."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import weir
from tests.store.objects import commit, create, new_store, queue
from weir.model.problem import Unavailable
from weir.store import ConfigStore
from weir.store.owner import acting_as

NOBODY = 65534
CODE = Path(weir.__file__).parent

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


def file_uid() -> int:
    return int(ctypes.CDLL(None).setfsuid(ctypes.c_uint(0xFFFFFFFF)))


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A prepared database in a folder of `nobody`, in a place that everybody can reach."""
    with TemporaryDirectory(prefix="weir-store-owner-") as place:
        Path(place).chmod(0o755)
        folder = Path(place) / "data"
        folder.mkdir()
        store = new_store(folder)
        commit(store, create(queue("q1")))
        store.close()
        for path in (*folder.iterdir(), folder):
            os.chown(path, NOBODY, NOBODY)
        yield folder


def test_files_that_root_makes_belong_to_the_owner(nobodys: Path) -> None:
    store = ConfigStore.open(nobodys / "weir.db")
    commit(store, create(queue("q2")))
    assert {path.name: path.stat().st_uid for path in nobodys.iterdir()} == {
        "weir.db": NOBODY,
        "weir.db-wal": NOBODY,
        "weir.db-shm": NOBODY,
    }
    assert store.head() == 2 and file_uid() == 0
    store.close()


def test_code_that_the_owner_may_not_read_opens_the_owners_files(nobodys: Path) -> None:
    """As in a clone below /root: the migrations are root's to read, not the owner's."""
    with TemporaryDirectory(prefix="weir-store-code-") as closed:
        shutil.copytree(CODE, Path(closed, "weir"))
        read_it = "from pathlib import Path; import sys; from weir.store import ConfigStore"
        read_it += "; ConfigStore.open(Path(sys.argv[1])).close()"
        done = subprocess.run(
            [sys.executable, "-c", read_it, str(nobodys / "weir.db")],
            env={**os.environ, "PYTHONPATH": closed},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_inside_a_transaction_the_thread_is_root_again(nobodys: Path) -> None:
    store = ConfigStore.open(nobodys / "weir.db")
    with store.write():
        assert file_uid() == 0
    with pytest.raises(KeyError), store.write():
        raise KeyError
    assert file_uid() == 0
    store.close()


def test_a_file_of_roots_in_the_place_of_the_database_is_not_opened(nobodys: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.db"
    ConfigStore.open(secret, create=True).close()
    secret.chmod(0o600)
    (nobodys / "weir.db").unlink()
    (nobodys / "weir.db").symlink_to(secret)
    os.chown(nobodys / "weir.db", NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(Unavailable):
        ConfigStore.open(nobodys / "weir.db")
    assert not (tmp_path / "secret.db-wal").exists()


def test_the_identity_is_one_threads_own() -> None:
    seen: list[int] = []
    acting = threading.Event()
    thread = threading.Thread(target=lambda: (acting.wait(60), seen.append(file_uid())))
    thread.start()
    with acting_as((NOBODY, NOBODY)):
        assert file_uid() == NOBODY
        acting.set()
        thread.join()
    assert seen == [0] and file_uid() == 0
