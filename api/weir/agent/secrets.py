# SPDX-License-Identifier: Apache-2.0
"""The router's key: made at the first start, readable by root alone, and never in the database.

The API seals what people enter to the public half and can open nothing. For a backup the secrets are sealed
to a second key, which follows from a passphrase: the agent keeps only its public half, so somebody who takes
over the API gets no secrets by asking for a backup, unless the passphrase is typed meanwhile.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from weir import x25519
from weir.fields.secret import LOST
from weir.kinds import DECLARED
from weir.kinds.secrets import place_of, secrets_of
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.model.problem import Forbidden, Invalid, NotFound, Problem, Unavailable
from weir.sealing import KEY_BYTES, SALT_BYTES, Key, seal
from weir.wire.server import Handler, Peer

MIN_PASSPHRASE_CHARS = 12
MAX_PASSPHRASE_CHARS = 1000


MOST_OPENED = 20_000
"""Secrets of which the text is remembered, those that were needed last."""
MAKERS: Mapping[str, Callable[[], str]] = {"x25519": x25519.new_private}
"""What a `Secret` may be `made` as."""


class Secrets:
    """The keys in `folder`, which belongs to root. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._key_file = folder / "secrets.key"
        self._backup_file = folder / "backup-key.json"
        self._lock = threading.Lock()
        self._key: Key | None = None
        self._opened: dict[tuple[str, str], str] = {}

    def table(self) -> Mapping[str, Handler]:
        return {
            "secrets_key": lambda _params, _peer: {"key": _text(self.key.public)},
            "secrets_make": self._make,
            "secrets_passphrase": self._passphrase,
            "secrets_pack": self._pack,
            "secrets_unpack": self._unpack,
        }

    @property
    def key(self) -> Key:
        """Made when it is first needed. Raises `Unavailable` naming the file that cannot be used."""
        with self._lock:
            if self._key is None:
                self._key = self._read_or_make()
            return self._key

    def texts(self, item: ConfigObject) -> dict[str, str]:
        """The plain texts of an object's secrets by path, for what configures the system, without those that
        are lost. Raises as `Key.open`."""
        found = secrets_of(DECLARED[item.kind], item)
        return {
            path: self._open(place_of(item.kind, item.id, path), value)
            for path, value in found
            if value != LOST
        }

    def _open(self, place: str, value: str) -> str:
        with self._lock:
            known = self._opened.pop((place, value), None)
        text = self.key.open(place, value) if known is None else known
        with self._lock:
            self._opened[place, value] = text  # behind all others
            if len(self._opened) > MOST_OPENED:
                del self._opened[next(iter(self._opened))]
        return text

    def all_texts(self, document: Document) -> Iterator[str]:
        """The plain texts of all secrets, to take them out of a text: also of those that this process opened
        and that have been replaced. What this router cannot open it has never known in the clear."""
        with self._lock:
            opened = set(self._opened.values())
        yield from chain.from_iterable(map(_told_apart, opened))
        for kind, declaration in DECLARED.items():
            for item in document.of_kind(kind).values() if declaration.secrets else ():
                try:
                    for text in set(self.texts(item).values()) - opened:
                        yield from _told_apart(text)
                except Problem:
                    continue

    def _read_or_make(self) -> Key:
        try:
            if not self._key_file.exists():
                _write(self._key_file, Key.new().private)
            private = self._key_file.read_bytes()
        except OSError as error:
            text = f"the key of the secrets, {self._key_file}, cannot be used: {error.strerror}"
            raise Unavailable(text, code="secrets-key") from error
        if len(private) != KEY_BYTES:
            text = f"{self._key_file} is damaged; without it the secrets have to be entered again: remove it"
            raise Unavailable(text, code="secrets-key")
        return Key(private)

    def _make(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """A secret that a declaration has made here; sealed, so that only this process ever knows it."""
        kind, object_id, path = (_words(params, name) for name in ("kind", "id", "path"))
        declaration = DECLARED.get(kind)
        secret = declaration.secrets.get(path) if declaration else None
        if secret is None or secret.made not in MAKERS:
            raise Invalid(f"no {path} of a {kind} is made by the router", code="bad-request", path="path")
        return {"sealed": seal(self.key.public, place_of(kind, object_id, path), MAKERS[secret.made]())}

    def _passphrase(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Choose the passphrase of backups; one that was chosen is changed by who knows it."""
        new, old = _words(params, "passphrase"), params.get("old")
        if not MIN_PASSPHRASE_CHARS <= len(new) <= MAX_PASSPHRASE_CHARS:
            wanted = f"{MIN_PASSPHRASE_CHARS} to {MAX_PASSPHRASE_CHARS:,} characters"
            raise Invalid(f"the passphrase must have {wanted}", code="bad-secret", path="passphrase")
        known = self._backup_key()
        if known is not None:
            salt, public = known
            if not isinstance(old, str) or Key.of_passphrase(old, salt).public != public:
                text = "the present passphrase is needed, and this is not it"
                raise Forbidden(text, code="wrong-passphrase")
        salt = os.urandom(SALT_BYTES)
        content = {"salt": _text(salt), "public": _text(Key.of_passphrase(new, salt).public)}
        _write(self._backup_file, json.dumps(content).encode())
        return {}

    def _backup_key(self) -> tuple[bytes, bytes] | None:
        """Salt and public half of the passphrase's key."""
        with contextlib.suppress(FileNotFoundError):
            found = json.loads(self._backup_file.read_text())
            return _bytes(found["salt"]), _bytes(found["public"])
        return None

    def _pack(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Secrets by place, sealed to the passphrase's key. What this router cannot open is left out."""
        known = self._backup_key()
        if known is None:
            raise NotFound("no passphrase was chosen for backups with secrets", code="no-passphrase")
        salt, public = known
        found = _places(params)
        packed = {
            place: seal(public, place, self.key.open(place, value))
            for place, value in found.items()
            if value != LOST and self.key.is_for(value)
        }
        return {"salt": _text(salt), "secrets": packed}

    def _unpack(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Secrets of a backup, sealed to this router's key."""
        try:
            salt = _bytes(_words(params, "salt"))
        except ValueError:
            salt = b""
        if len(salt) != SALT_BYTES:
            raise Invalid("the backup's secrets are damaged", code="backup-damaged")
        theirs = Key.of_passphrase(_words(params, "passphrase"), salt)
        found = _places(params)
        if not all(theirs.is_for(value) for value in found.values()):
            raise Forbidden("this is not the passphrase of the backup", code="wrong-passphrase")
        public = self.key.public
        return {
            "secrets": {place: seal(public, place, theirs.open(place, text)) for place, text in found.items()}
        }


def _told_apart(text: str) -> Iterator[str]:
    """A secret of one line is one; of a key in PEM each line is, but for its marks and a short end that other
    texts may have, too."""
    lines = text.splitlines()
    return iter(lines) if len(lines) < 2 else (x for x in lines if len(x) > 16 and x[:1] != "-")


def _words(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise Invalid(f"{name} must be text", code="bad-request", path=name)
    return value


def _places(params: dict[str, Any]) -> dict[str, str]:
    found = params.get("secrets")
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise Invalid("secrets must be sealed texts by place", code="bad-request", path="secrets")
    return found


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _write(path: Path, content: bytes) -> None:
    """The whole file or none, for root alone, on the disk when this returns."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
