# SPDX-License-Identifier: Apache-2.0
"""Sealing secrets: the public half of a key seals, and only the agent has the other half, which opens.

Sealed boxes of libsodium (X25519, XSalsa20-Poly1305). What is sealed names its place, so a text that was
copied from one object to another does not open there. Its length is rounded up to 64 bytes. PyNaCl is loaded
when it is first needed: most routers' commits have no secret.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.model.problem import Conflict, Invalid

if TYPE_CHECKING:
    from nacl.public import PrivateKey

KEY_BYTES = 32
SALT_BYTES = 16
_STEP = 64


def key_id(public: bytes) -> str:
    """How a key is called in what was sealed to it: 16 hexadecimal digits."""
    from nacl.hash import blake2b

    return blake2b(public, digest_size=8).decode("ascii")


def seal(public: bytes, place: str, text: str) -> str:
    """A text that only the owner of the key can read, and only at this place."""
    from nacl.public import PublicKey, SealedBox

    plain = json.dumps([place, text]).encode()
    plain = plain.ljust(-(-len(plain) // _STEP) * _STEP)
    box = SealedBox(PublicKey(public)).encrypt(plain)
    return f"{key_id(public)}.{base64.b64encode(box).decode('ascii')}"


@dataclass(frozen=True, slots=True, repr=False)
class Key:
    """The private half; its representation does not show it."""

    private: bytes

    @classmethod
    def new(cls) -> Key:
        from nacl.utils import random

        return cls(random(KEY_BYTES))

    @classmethod
    def of_passphrase(cls, passphrase: str, salt: bytes) -> Key:
        """Argon2id with libsodium's interactive bounds: 64 MiB and about 0.1 s."""
        from nacl.pwhash import argon2id

        return cls(
            argon2id.kdf(
                KEY_BYTES,
                passphrase.encode("utf-8", "surrogatepass"),
                salt,
                opslimit=argon2id.OPSLIMIT_INTERACTIVE,
                memlimit=argon2id.MEMLIMIT_INTERACTIVE,
            )
        )

    @property
    def public(self) -> bytes:
        return bytes(self._pair().public_key)

    def _pair(self) -> PrivateKey:
        from nacl.public import PrivateKey

        return PrivateKey(self.private)

    def is_for(self, sealed: str) -> bool:
        """Whether a text was sealed to this key."""
        return sealed.partition(".")[0] == key_id(self.public)

    def open(self, place: str, sealed: str) -> str:
        """Raises `Conflict` (`secret-sealed-elsewhere`) for another key's, `Invalid` (`secret-damaged`)."""
        from nacl.exceptions import CryptoError
        from nacl.public import SealedBox

        if not self.is_for(sealed):
            raise Conflict(
                f"the secret {place} was sealed for another router: enter it again",
                code="secret-sealed-elsewhere",
                path=place,
            )
        try:
            box = base64.b64decode(sealed.partition(".")[2], validate=True)
            meant, text = json.loads(SealedBox(self._pair()).decrypt(box))
        except (CryptoError, ValueError, TypeError) as error:
            raise _damaged(place) from error
        if meant != place:
            raise _damaged(place)
        return str(text)


def _damaged(place: str) -> Invalid:
    text = f"the secret {place} is damaged, or was sealed for another place: enter it again"
    return Invalid(text, code="secret-damaged", path=place)
