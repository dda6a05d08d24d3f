# SPDX-License-Identifier: Apache-2.0
"""Certificates with their keys, and which one the web interface shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.fields.secret import LOST
from weir.kinds.certificate import Certificate
from weir.kinds.management import Management
from weir.model.document import Document
from weir.model.objects import ConfigObject
from weir.model.x509 import read_chain
from weir.parts.part import EntriesPart
from weir.parts.wireguard import Sealed, sealed_of

WEB = "web interface"
"""The key of the entry that says what it shows; no id has a blank."""


@dataclass(frozen=True, slots=True)
class CertificateSpec:
    """`key` None: of an uploaded one, this router does not know it; of others, the router makes it."""

    id: str
    type: str
    names: tuple[str, ...]
    key_type: str
    chain: str
    key: Sealed | None
    directory: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class ShownSpec:
    """The certificate that the web interface shows."""

    certificate: str


Spec = CertificateSpec | ShownSpec


class CertificatesPart(EntriesPart[Spec]):
    name, what = "certificates", "certificate"
    made_of = frozenset(("certificate", "management"))
    after = ("naming",)

    def key(self, entry: Spec) -> str:
        return WEB if isinstance(entry, ShownSpec) else entry.id

    def wanted(self, document: Document) -> Mapping[str, Spec]:
        every = sorted(document.every(Certificate), key=lambda item: item.id)
        found: dict[str, Spec] = {item.id: _spec(item) for item in every}
        shown = document.single(Management).certificate
        if shown is not None and shown in found:
            found[WEB] = ShownSpec(shown)
        return found

    def told(self, wanted: Mapping[str, Spec], item: ConfigObject) -> Iterator[str]:
        name = WEB if isinstance(item, Management) else item.id
        if name in wanted:
            yield self.text(None, wanted[name])

    def text(self, old: Spec | None, new: Spec) -> str:
        if isinstance(new, ShownSpec):
            return f"the web interface shows {new.certificate}"
        if new.type == "upload":
            chain = read_chain(new.chain)
            return f"{new.id}: {chain[0].subject or 'without a subject'}" if chain else new.id
        if new.type == "acme":
            return f"{new.id}: for {', '.join(new.names)}, by {new.directory}"
        return f"{new.id}: for {', '.join(new.names)}, signed by the router"


def _spec(item: Certificate) -> CertificateSpec:
    return CertificateSpec(
        item.id,
        item.type,
        item.names,
        item.key_type,
        item.chain or "",
        None if item.key == LOST else sealed_of(item.kind, item.id, "key", item.key),
        item.directory or "",
        item.email or "",
    )


CERTIFICATES = CertificatesPart()
