# SPDX-License-Identifier: Apache-2.0
"""The whole configuration as one file, and back.

A line of JSON says what the file is; each further line is one object, without the fields that have their
default. The head has the number of lines and their digest, so that a file that was cut or changed is refused
as a whole. Accounts, tokens and the audit trail are a database of their own (docs/adr/0023) and never in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import weir
from weir.accounts.audit import AuditService, entry_of
from weir.accounts.permissions import requires
from weir.accounts.principal import Principal
from weir.kinds import DECLARED
from weir.model.codec import from_json, parse_kind
from weir.model.document import Document
from weir.model.moment import moment
from weir.model.objects import ConfigObject
from weir.model.problem import Finding, Invalid, Problem
from weir.service.backup_secrets import BackupSecrets, holding, places_of
from weir.service.configuration import ConfigService
from weir.service.packed_edits import PackedEdits
from weir.service.types import ABSENT, ANYTHING, Committed, Edit
from weir.store.bodies import encode
from weir.store.clock import wall_ms
from weir.wire.client import AgentClient

FORMAT = "weir-backup"
VERSION = 1
MAX_OBJECTS = 1_000_000
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Backup:
    """What a file holds, and how it differs from what runs. `revision` is where it was made."""

    made_at: str
    hostname: str
    release: str
    revision: int
    objects: int
    edits: Sequence[Edit]
    findings: Sequence[Finding]
    base_revision: int

    def counts(self) -> dict[str, int]:
        """Objects that a restore adds, changes and removes."""
        removed = sum(edit.new is None for edit in self.edits)
        added = sum(edit.expects == ABSENT for edit in self.edits)
        return {"added": added, "changed": len(self.edits) - added - removed, "removed": removed}


class BackupService:
    def __init__(self, config: ConfigService, audit: AuditService, agent: AgentClient) -> None:
        self._config = config
        self._audit = audit
        self._secrets = BackupSecrets(agent)

    @requires("config.write")
    def choose_passphrase(self, by: Principal, passphrase: str, old: str | None) -> None:
        """The passphrase of secrets in backups. Raises `Invalid`, `Forbidden`, `Unavailable`."""
        self._secrets.choose_passphrase(passphrase, old)
        self._audit.note(entry_of(by, "config.backup-passphrase", "backups"))

    @requires("config.read")
    def write(self, by: Principal, hostname: str, *, secrets: bool = False) -> tuple[int, bytes]:
        """The running revision and its file; the audit trail says who took it.

        With `secrets` it holds those, sealed to the passphrase's key. Raises `NotFound` (`no-passphrase`).
        """
        with self._config.at_head(by) as (revision, running):
            document = running.copy()
        held = places_of(document)
        salt, packed = self._secrets.packed(held) if secrets and held else (None, {})
        lines = list(_lines(document, packed))
        head = _head(hostname, revision, lines, sorted(held.keys() - packed.keys()))
        if salt is not None:
            head["secrets_salt"] = salt
        self._audit.note(entry_of(by, "config.backup", f"revision {revision}"))
        return revision, b"".join([json.dumps(head).encode() + b"\n", *lines])

    @requires("config.read")
    def pieces(self, by: Principal, hostname: str) -> Iterator[bytes]:
        """The same file without secrets, piece by piece; who has it sent notes that. The objects are encoded
        twice, for the digest and to be sent: 100,000 queues are tens of megabytes."""
        with self._config.at_head(by) as (revision, running):
            document = running.copy()
        head = _head(hostname, revision, _lines(document, {}), sorted(places_of(document)))
        yield json.dumps(head).encode() + b"\n"
        yield from _lines(document, {})

    @requires("config.read")
    def read(self, by: Principal, data: bytes, passphrase: str | None = None) -> Backup:
        """What restoring a file would do; nothing is changed. Raises `Invalid` (`backup-...`), and with a
        passphrase `Forbidden` (`wrong-passphrase`)."""
        head, lines = _split(data)
        salt = head.get("secrets_salt")
        unpacked = {}
        if isinstance(salt, str) and passphrase is not None:
            unpacked = self._secrets.unpacked(_objects(lines), salt, passphrase)
        with self._config.at_head(by) as (revision, held):
            running = held.copy()
        objects = self._secrets.restored(_objects(lines), running, unpacked)
        edits = PackedEdits(_edits(running, objects))  # at no time do all objects exist at once
        findings = self._config.check(by, edits) if edits else []
        findings.sort(key=lambda finding: finding.severity != "error")
        return Backup(
            made_at=str(head.get("made_at", "")),
            hostname=str(head.get("hostname", "")),
            release=str(head.get("release", "")),
            revision=head["revision"] if type(head.get("revision")) is int else 0,
            objects=len(lines),
            edits=edits,
            findings=findings,
            base_revision=revision,
        )

    @requires("config.write")
    def restore(
        self,
        by: Principal,
        data: bytes,
        message: str = "",
        confirm_within_s: int | None = None,
        passphrase: str | None = None,
    ) -> Committed:
        """Make the configuration what a file says, as one revision; what the file does not name goes.

        Raises `Invalid` (`backup-...`), and as a commit does.
        """
        backup = self.read(by, data, passphrase)
        said = message or f"restore the backup of {backup.hostname} at {backup.made_at}"
        return self._config.commit(
            by,
            backup.edits,
            said,
            confirm_within_s,
            expected_head=backup.base_revision,
            audited_as="restore",
        )


def _line(item: ConfigObject) -> bytes:
    head = json.dumps({"kind": item.kind, "id": item.id})[:-1]
    return f'{head}, "object": {encode(item)}}}\n'.encode()


def _lines(document: Document, packed: Mapping[str, str]) -> Iterator[bytes]:
    """Each object in the order of kinds and ids; of its secrets only what is `packed`."""
    places = sorted((kind, object_id) for kind in DECLARED for object_id in document.of_kind(kind))
    for kind, object_id in places:
        yield _line(holding(document.of_kind(kind)[object_id], packed))


def _head(hostname: str, revision: int, lines: Iterable[bytes], left_out: Sequence[str]) -> Json:
    count, digest = _summary(lines)
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_at": moment(wall_ms()),
        "hostname": hostname,
        "release": weir.__version__,
        "revision": revision,
        "objects": count,
        "sha256": digest,
        "secrets_left_out": list(left_out),
    }


def _summary(lines: Iterable[bytes]) -> tuple[int, str]:
    """How many they are, and their digest."""
    count, summary = 0, hashlib.sha256()
    for line in lines:
        summary.update(line)
        count += 1
    return count, summary.hexdigest()


def _split(data: bytes) -> tuple[Json, list[bytes]]:
    """The head and the lines behind it, as many and as they were written."""
    first, _, rest = data.partition(b"\n")
    head = _json(first, 1)
    if head.get("format") != FORMAT:
        raise Invalid("the file is no backup of Weir", code="backup-unknown")
    version = head.get("version")
    if version != VERSION:
        raise Invalid(
            f"the backup has format {version!r}, this release reads {VERSION}; it was made by Weir "
            f"{str(head.get('release'))[:40]}",
            code="backup-version",
        )
    lines = rest.splitlines(keepends=True)
    count = head.get("objects")
    if type(count) is not int or len(lines) != count or count > MAX_OBJECTS:
        raise Invalid(
            f"the backup was cut: {len(lines)} of {count!r} objects are there", code="backup-damaged"
        )
    if _summary(lines)[1] != head.get("sha256"):
        raise Invalid("the backup was cut or changed after it was made", code="backup-damaged")
    return head, lines


def _objects(lines: Sequence[bytes]) -> Iterator[ConfigObject]:
    for number, line in enumerate(lines, start=2):
        entry = _json(line, number)
        object_id, body = entry.get("id"), entry.get("object")
        if not isinstance(object_id, str) or not isinstance(body, dict):
            raise Invalid(f"line {number} of the backup names no object", code="backup-damaged")
        try:
            yield from_json(parse_kind(entry.get("kind", "")), body, object_id, is_stored=True)
        except Problem as problem:
            raise Invalid(
                f"line {number} of the backup: {problem.message}", code="backup-refused", path=problem.path
            ) from problem


def _json(line: bytes, number: int) -> Json:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Invalid(
            f"line {number} is not an object of JSON: this is no backup of Weir", code="backup-unknown"
        )
    return found


def _edits(running: Document, objects: Iterable[ConfigObject]) -> Iterator[Edit]:
    """What turns the running objects into these."""
    kept = set()
    for item in objects:
        kept.add((item.kind, item.id))
        present = running.get(item.kind, item.id)
        if present != item:
            yield Edit(item.kind, item.id, item, ABSENT if present is None else ANYTHING)
    for item in running:
        if (item.kind, item.id) not in kept:
            yield Edit(item.kind, item.id, None, ANYTHING)
