# SPDX-License-Identifier: Apache-2.0
"""What a browser and a security key say to each other for us (W3C Web Authentication, Level 3), read and
checked.

Without attestation, so of CBOR nothing has to be read: the browser gives the public key as a
SubjectPublicKeyInfo, and the authenticator data has a fixed layout (section 6.1).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Literal

from weir import signatures

CHALLENGE_BYTES = 32
MAX_CREDENTIAL_ID_BYTES = 1023
MAX_CLIENT_DATA_BYTES = 4096
MAX_AUTHENTICATOR_DATA_BYTES = 4096
_HASH_BYTES = 32
_HEAD_BYTES = 37
"""Hash of the relying party's id, flags, counter."""
_ID_AT = _HEAD_BYTES + 16 + 2
"""Behind AAGUID and length."""
_PRESENT, _ELIGIBLE, _BACKED_UP, _ATTESTED = 0x01, 0x08, 0x10, 0x40

Ceremony = Literal["webauthn.create", "webauthn.get"]


class Unfit(Exception):
    """What came is not what was asked for; the message is the end of a sentence that says why."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a browser has the router open. `origin` is scheme, host and port, `rp_id` the host alone."""

    origin: str
    rp_id: str


@dataclass(frozen=True, slots=True)
class ClientData:
    """What the browser says of a request: which one it was, and where it was at."""

    challenge: bytes
    origin: str


@dataclass(frozen=True, slots=True)
class NewKey:
    """What `navigator.credentials.create()` answers; `public_key` is a SubjectPublicKeyInfo."""

    credential_id: bytes
    public_key: bytes
    algorithm: int
    client_data: bytes
    authenticator_data: bytes


@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """What `navigator.credentials.get()` answers."""

    credential_id: bytes
    client_data: bytes
    authenticator_data: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of a key to check its answers."""

    site: Site
    public_key: bytes
    algorithm: int


def read_client_data(client_data: bytes, ceremony: Ceremony) -> ClientData:
    """Raises `Unfit`, also where a page of another origin had the router's page in it."""
    try:
        said = json.loads(client_data[: MAX_CLIENT_DATA_BYTES + 1])
        found, kind, origin = said["challenge"], said["type"], said["origin"]
        challenge = base64.urlsafe_b64decode(found + "=" * (-len(found) % 4))
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
        raise Unfit("what the browser says of the request cannot be read") from error
    if kind != ceremony:
        raise Unfit("the browser was asked for something else")
    if said.get("crossOrigin", False) is not False or not isinstance(origin, str):
        raise Unfit("another page had the router's page in it")
    return ClientData(challenge, origin)


def check_new(new: NewKey, site: Site) -> int:
    """Its counter, where it is a key of this site that somebody touched. Raises `Unfit`."""
    data = new.authenticator_data
    count = _count_of(data, site)
    length = int.from_bytes(data[_ID_AT - 2 : _ID_AT], "big")
    if not data[_HASH_BYTES] & _ATTESTED or not 0 < length <= MAX_CREDENTIAL_ID_BYTES:
        raise Unfit("the key tells no credential")
    if data[_ID_AT : _ID_AT + length] != new.credential_id:
        raise Unfit("the key tells another credential than the browser")
    if not signatures.is_usable(new.public_key, new.algorithm):
        raise Unfit("its public key is of a kind that is not taken: ES256, EdDSA and RS256 are")
    return count


def check_answer(answer: KeyAnswer, known: Known) -> int:
    """Its counter, where the key itself signed and somebody touched it. Raises `Unfit`."""
    count = _count_of(answer.authenticator_data, known.site)
    signed = answer.authenticator_data + hashlib.sha256(answer.client_data).digest()
    if not signatures.is_signed(known.public_key, known.algorithm, answer.signature, signed):
        raise Unfit("the signature is not the key's")
    return count


def is_next(count: int, before: int) -> bool:
    """Whether a counter went up as it must; keys that have none always say 0 (section 6.1.1)."""
    return count > before or (count == before == 0)


def _count_of(data: bytes, site: Site) -> int:
    if not _HEAD_BYTES <= len(data) <= MAX_AUTHENTICATOR_DATA_BYTES:
        raise Unfit("what the key says cannot be read")
    if not hmac.compare_digest(data[:_HASH_BYTES], hashlib.sha256(site.rp_id.encode()).digest()):
        raise Unfit(f"the key answered for another name than {site.rp_id}")
    flags = data[_HASH_BYTES]
    if not flags & _PRESENT:
        raise Unfit("nobody touched the key")
    if flags & _BACKED_UP and not flags & _ELIGIBLE:
        raise Unfit("what the key says contradicts itself")
    return int.from_bytes(data[_HASH_BYTES + 1 : _HEAD_BYTES], "big")
