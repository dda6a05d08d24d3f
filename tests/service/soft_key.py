# SPDX-License-Identifier: Apache-2.0
"""A security key in software, with keys that OpenSSL makes and signs with: what browser and key would
answer."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from weir.accounts.webauthn import KeyAnswer, NewKey
from weir.signatures import EDDSA, ES256, RS256

HOST = "tower-7.example.net"
ORIGIN = f"https://{HOST}"
PRESENT, VERIFIED, ELIGIBLE, BACKED_UP, ATTESTED = 0x01, 0x04, 0x08, 0x10, 0x40
_MAKING = {
    ES256: ("EC", "ec_paramgen_curve:P-256"),
    EDDSA: ("ED25519", ""),
    RS256: ("RSA", "rsa_keygen_bits:2048"),
}


def openssl(*words: str, text: bytes = b"") -> bytes:
    return subprocess.run(("openssl", *words), input=text, capture_output=True, check=True).stdout


@cache
def private_key(algorithm: int, number: int = 0, option: str = "") -> bytes:
    """In PEM; the same for the same arguments."""
    kind, usual = _MAKING[algorithm]
    options = ("-pkeyopt", option or usual) if usual else ()
    return openssl("genpkey", "-algorithm", kind, *options)


@cache
def public_key(private: bytes) -> bytes:
    """As a SubjectPublicKeyInfo."""
    return openssl("pkey", "-pubout", "-outform", "DER", text=private)


def signed(private: bytes, algorithm: int, data: bytes) -> bytes:
    with TemporaryDirectory() as folder:
        key, said = Path(folder, "key"), Path(folder, "said")
        key.write_bytes(private)
        said.write_bytes(data)
        if algorithm == EDDSA:
            return openssl("pkeyutl", "-sign", "-inkey", str(key), "-rawin", "-in", str(said))
        return openssl("dgst", "-sha256", "-sign", str(key), str(said))


def text_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class SoftKey:
    """`origin` is where the browser is, `rp_id` the name that it tells the key. Tests lie by changing
    them."""

    origin: str
    rp_id: str
    algorithm: int = ES256
    number: int = 0
    count: int = 0
    flags: int = PRESENT
    credential_id: bytes = field(default_factory=lambda: os.urandom(32))

    @property
    def private(self) -> bytes:
        return private_key(self.algorithm, self.number)

    def client_data(self, kind: str, challenge: bytes, **more: Any) -> bytes:
        said = {"type": kind, "challenge": text_of(challenge), "origin": self.origin, "crossOrigin": False}
        return json.dumps(said | more).encode()

    def data(self, more_flags: int = 0) -> bytes:
        head = hashlib.sha256(self.rp_id.encode()).digest() + bytes([self.flags | more_flags])
        return head + self.count.to_bytes(4, "big")

    def new(self, challenge: bytes, **more: Any) -> NewKey:
        length = len(self.credential_id).to_bytes(2, "big")
        return NewKey(
            self.credential_id,
            public_key(self.private),
            self.algorithm,
            self.client_data("webauthn.create", challenge, **more),
            self.data(ATTESTED) + bytes(16) + length + self.credential_id + b"\xa5",
        )

    def answer(self, challenge: bytes, kind: str = "webauthn.get", **more: Any) -> KeyAnswer:
        self.count += 1
        client_data, data = self.client_data(kind, challenge, **more), self.data()
        signature = signed(self.private, self.algorithm, data + hashlib.sha256(client_data).digest())
        return KeyAnswer(self.credential_id, client_data, data, signature)

    def at(self, origin: str, rp_id: str | None = None) -> SoftKey:
        """The same key elsewhere."""
        return replace(self, origin=origin, rp_id=rp_id or self.rp_id)


def soft(algorithm: int = ES256, number: int = 0) -> SoftKey:
    return SoftKey(ORIGIN, HOST, algorithm, number)


class Passing:
    """A clock of seconds for challenges."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s
