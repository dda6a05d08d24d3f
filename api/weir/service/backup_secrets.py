# SPDX-License-Identifier: Apache-2.0
"""Secrets in a backup: sealed to a passphrase's key, or left out and named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from weir.fields.secret import LOST
from weir.kinds import DECLARED
from weir.kinds.secrets import place_of, secrets_of, with_secrets
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.wire.client import AgentClient

Json = dict[str, Any]


def places_of(items: Iterable[ConfigObject]) -> dict[str, str]:
    """Every secret of the objects by its place; those that are lost already are none."""
    return {
        place_of(item.kind, item.id, path): value
        for item in items
        for path, value in secrets_of(DECLARED[item.kind], item)
        if value != LOST
    }


def holding(item: ConfigObject, sealed: Mapping[str, str]) -> ConfigObject:
    """The object with these secrets by place in the place of its own; others are lost."""
    found = {
        path: sealed.get(place_of(item.kind, item.id, path), LOST)
        for path, _ in secrets_of(DECLARED[item.kind], item)
    }
    return with_secrets(item, found)


class BackupSecrets:
    """The agent's part of a backup: it alone opens what the objects hold."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    def choose_passphrase(self, passphrase: str, old: str | None) -> None:
        """Raises `Invalid`, and `Forbidden` when another one was chosen before and `old` is not it."""
        self._agent.call("secrets_passphrase", {"passphrase": passphrase, "old": old})

    def packed(self, secrets: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Salt, and the secrets sealed to the passphrase's key. Raises `NotFound` (`no-passphrase`)."""
        answer = self._agent.call("secrets_pack", {"secrets": dict(secrets)})
        return str(answer["salt"]), dict(answer["secrets"])

    def restored(
        self, items: Iterable[ConfigObject], running: Document, unpacked: Mapping[str, str]
    ) -> Iterator[ConfigObject]:
        """The objects of a file with what its passphrase opened, or else with the secrets that this router
        has in the same places; what is in neither is lost, and a finding names it."""
        for item in items:
            present = running.get(item.kind, item.id)
            own = {} if present is None else places_of([present])
            yield holding(item, {**own, **unpacked})

    def unpacked(self, items: Iterable[ConfigObject], salt: str, passphrase: str) -> dict[str, str]:
        """Raises `Forbidden` (`wrong-passphrase`)."""
        params = {"salt": salt, "passphrase": passphrase, "secrets": places_of(items)}
        return dict(self._agent.call("secrets_unpack", params)["secrets"])
