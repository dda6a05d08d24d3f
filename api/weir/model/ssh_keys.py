# SPDX-License-Identifier: Apache-2.0
"""Public keys of SSH, in the one-line form that ssh-keygen writes (RFC 4253, section 6.6; RFC 8709)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from weir.model.problem import Invalid

MAX_SSH_KEY_CHARS = 3000
MIN_RSA_BITS, MAX_RSA_BITS = 2048, 8192
_CURVES = {"nistp256": 65, "nistp384": 97, "nistp521": 133}
"""Bytes of an uncompressed point (SEC 1, section 2.3.3)."""
_ED25519_BYTES = 32
_SECURITY_KEYS = ("sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com")
"""Halves of hardware that is touched at each sign-in (OpenSSH's PROTOCOL.u2f)."""
TYPES = ("ssh-ed25519", *(f"ecdsa-sha2-{curve}" for curve in _CURVES), "ssh-rsa", *_SECURITY_KEYS)


@dataclass(frozen=True, slots=True)
class PublicHalf:
    """`blob` is the key in base64; `bits` are those of its modulus or curve."""

    type: str
    blob: str
    bits: int

    @property
    def text(self) -> str:
        return f"{self.type} {self.blob}"

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` shows it."""
        digest = hashlib.sha256(base64.b64decode(self.blob)).digest()
        return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def parse_ssh_key(value: object) -> str:
    """The key in its one form, type and base64; a comment behind it is left out. Raises `Invalid`, which says
    what is wrong and never repeats the text: people paste private keys."""
    return ssh_key(value).text


def ssh_key(value: object) -> PublicHalf:
    """Raises `Invalid`, as `parse_ssh_key`."""
    text = value.strip() if isinstance(value, str) else ""
    words = text.split(None, 2)
    _refuse_others(text, words)
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError):
        raise _bad("the key behind its type is not base64: was it copied whole?") from None
    canonical = base64.b64encode(blob).decode("ascii")
    return PublicHalf(words[0], canonical, _bits(words[0], blob))


def _refuse_others(text: str, words: Sequence[str]) -> None:
    if "PRIVATE KEY" in text:
        raise _bad("this is a private key, which nobody else should see: the public one is in the file .pub")
    if "\n" in text or text.startswith("----"):
        raise _bad("must be one line that begins with the key's type, as in a file .pub of ssh-keygen")
    first = words[0] if words else ""
    if first == "ssh-dss":
        raise _bad("DSA keys are too weak, and OpenSSH takes none: make one with ssh-keygen -t ed25519")
    if "-cert-" in first:
        raise _bad("this is a certificate: give the public key itself")
    if first not in TYPES:
        if any(word in TYPES for part in words for word in part.split()):
            text = "options before the key are not taken: what a session may do follows from its account"
            raise _bad(text)
        raise _bad(f"must begin with one of {', '.join(TYPES)}")
    if len(words) < 2:
        raise _bad("there is no key behind its type: was it copied whole?")


def _bits(kind: str, blob: bytes) -> int:
    """The length of the key in `blob`, whose parts are those of its type. Raises `Invalid`."""
    parts = _parts(blob)
    if not parts or parts[0] != kind.encode("ascii"):
        raise _bad("the key is damaged, or of another type than the line says")
    if kind == "ssh-rsa":
        return _rsa_bits(parts)
    is_sk = kind in _SECURITY_KEYS
    plain = kind.removeprefix("sk-").removesuffix("@openssh.com")
    if plain == "ssh-ed25519":
        wanted, bits = [_ED25519_BYTES], 256
    else:
        curve = plain.removeprefix("ecdsa-sha2-")
        wanted, bits = [len(curve), _CURVES[curve]], int(curve.removeprefix("nistp"))
        if parts[1:2] != [curve.encode("ascii")] or parts[2][:1] != b"\x04":
            raise _bad("the key is damaged: its curve is not the one that its type names")
    sizes = [len(part) for part in parts[1:]]
    if (sizes[:-1] if is_sk and sizes else sizes) != wanted or (is_sk and not parts[-1]):
        raise _bad("the key is damaged: its parts have not the lengths of its type")
    return bits


def _rsa_bits(parts: Sequence[bytes]) -> int:
    if len(parts) != 3:
        raise _bad("the key is damaged: an RSA key has an exponent and a modulus")
    exponent, bits = int.from_bytes(parts[1], "big"), int.from_bytes(parts[2], "big").bit_length()
    if exponent < 3 or exponent % 2 == 0:
        raise _bad("the key is damaged: its exponent is none of RSA")
    if not MIN_RSA_BITS <= bits <= MAX_RSA_BITS:
        text = f"an RSA key of {bits} bits is not taken: it must have {MIN_RSA_BITS:,} to {MAX_RSA_BITS:,}"
        raise _bad(text)
    return bits


def _parts(blob: bytes) -> list[bytes]:
    """The strings of a blob (RFC 4251, section 5); none where their lengths do not fit. At least three stand
    in a key that is not of Ed25519, so what reads them finds them."""
    found, at = [], 0
    while at + 4 <= len(blob):
        (size,) = struct.unpack_from(">I", blob, at)
        at += 4 + size
        if at > len(blob):
            return []
        found.append(blob[at - size : at])
    if at != len(blob):
        return []
    return found if len(found) >= 3 or found[:1] == [b"ssh-ed25519"] else []


def _bad(text: str) -> Invalid:
    return Invalid(text, code="bad-ssh-key")
