# SPDX-License-Identifier: Apache-2.0
"""What a certificate says (X.509, RFC 5280), as far as Weir asks: read from PEM (RFC 7468), nothing verified.

Signatures are checked by OpenSSL where a certificate is put to use; here is what can be said of a text alone.
"""

from __future__ import annotations

import base64
import binascii
import calendar
import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NamedTuple

from weir.model.problem import Invalid

MAX_CHAIN = 8
MAX_CHAIN_CHARS = 32_768
MIN_RSA_BITS = 2048
"""Less is refused by OpenSSL's security level 2 (SSL_CTX_set_security_level(3))."""
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\s*([A-Za-z0-9+/=\s]*?)-----END \1-----")
_SEQUENCE = 0x30
_VERSION, _EXTENSIONS, _UTC_TIME = 0xA0, 0xA3, 0x17
_NAME_DNS, _NAME_IP = 0x82, 0x87
_ATTRIBUTES = {"550403": "CN", "55040a": "O", "55040b": "OU", "550406": "C", "550408": "ST", "550407": "L"}
_ALT_NAMES = "551d11"
_RSA, _EC, _ED25519 = "2a864886f70d010101", "2a8648ce3d0201", "2b6570"
_CURVES = {
    "2a8648ce3d030107": ("P-256", 256),
    "2b81040022": ("P-384", 384),
    "2b81040023": ("P-521", 521),
    "2b81040021": ("P-224", 224),
    "2b8104000a": ("secp256k1", 256),
}
_WEAK_SIGNATURES = {
    "2a864886f70d010102": "MD2",
    "2a864886f70d010104": "MD5",
    "2a864886f70d010105": "SHA-1",
    "2a8648ce3d0401": "SHA-1",
}


@dataclass(frozen=True, slots=True)
class X509:
    """`issued_by` and `issued_to` are the names as they are encoded, which are the same in a chain; times are
    seconds since 1970. `key_bits` is 0 for a key of a kind that is not known here."""

    der: bytes
    subject: str
    issuer: str
    issued_to: bytes
    issued_by: bytes
    names: tuple[str, ...]
    not_before_s: int
    not_after_s: int
    key: str
    key_bits: int
    weak_signature: str

    @property
    def sha256(self) -> str:
        """The fingerprint as browsers show it: AB:CD:..."""
        return fingerprint(self.der)

    @property
    def is_self_signed(self) -> bool:
        return self.issued_to == self.issued_by


def fingerprint(der: bytes) -> str:
    return ":".join(f"{byte:02X}" for byte in hashlib.sha256(der).digest())


def parse_chain(value: object) -> str:
    """Certificates in PEM, the one of the server first, without what stands around them. Raises `Invalid`:
    also where a private key is among them."""
    if not isinstance(value, str) or len(value) > MAX_CHAIN_CHARS:
        raise Invalid(f"must be text of up to {MAX_CHAIN_CHARS:,} characters", code="bad-certificate")
    if "PRIVATE KEY-----" in value:
        text = "holds a private key, which everybody who may read could see here: put it into key"
        raise Invalid(text, code="key-in-chain")
    chain = read_chain(value)
    if not chain:
        text = "must be certificates in PEM, which begin with -----BEGIN CERTIFICATE-----"
        raise Invalid(text, code="bad-certificate")
    if len(chain) > MAX_CHAIN:
        raise Invalid(f"has {len(chain)} certificates; at most {MAX_CHAIN} are allowed", code="too-many")
    return "".join(map(to_pem, chain))


def read_chain(text: str) -> list[X509]:
    """Raises `Invalid` naming the certificate that cannot be read by its number."""
    found = []
    for kind, body in _BLOCK.findall(text):
        if kind != "CERTIFICATE":
            raise Invalid(f"holds a {kind}, where certificates are wanted", code="bad-certificate")
        try:
            found.append(read_der(base64.b64decode("".join(body.split()), validate=True)))
        except (binascii.Error, ValueError, IndexError, OverflowError) as error:
            text = f"certificate {len(found) + 1} is damaged, or no certificate"
            raise Invalid(text, code="bad-certificate") from error
    return found


def to_pem(certificate: X509) -> str:
    body = base64.b64encode(certificate.der).decode("ascii")
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"


def parse_private_key(text: str) -> None:
    """Raises `Invalid` for what is no private key in PEM, or one that asks for a password."""
    kinds = [kind for kind, _ in _BLOCK.findall(text)]
    if "ENCRYPTED PRIVATE KEY" in kinds or "Proc-Type: 4,ENCRYPTED" in text:
        wanted = "is protected by a password, which a server has nobody to ask for: openssl pkey takes it off"
        raise Invalid(wanted, code="key-encrypted")
    if sum(kind.endswith("PRIVATE KEY") for kind in kinds) != 1:
        raise Invalid("must be one private key in PEM (-----BEGIN PRIVATE KEY-----)", code="bad-key")


def covers(names: Sequence[str], name: str) -> bool:
    """Whether a certificate with these names is one for `name` (RFC 6125, 6.4.3: `*` is one label)."""
    wanted = name.lower()
    below = wanted.partition(".")[2]
    return any(known.lower() in (wanted, f"*.{below}" if below else wanted) for known in names)


# -- DER (X.690) -------------------------------------------------------------------------------------------


class _Item(NamedTuple):
    tag: int
    content: bytes


def _items(data: bytes) -> Iterator[_Item]:
    """The values that stand one behind the other. Raises `ValueError` for one that is cut."""
    at = 0
    while at < len(data):
        tag, length, start = data[at], data[at + 1], at + 2
        if length >= 0x80:
            count = length & 0x7F
            if not 1 <= count <= 4:
                raise ValueError("no definite length")
            length, start = int.from_bytes(data[start : start + count], "big"), start + count
        end = start + length
        if end > len(data):
            raise ValueError("cut")
        yield _Item(tag, data[start:end])
        at = end


def _only(data: bytes, tag: int) -> bytes:
    (item,) = _items(data)
    if item.tag != tag:
        raise ValueError("another type")
    return item.content


def read_der(der: bytes) -> X509:
    """Raises `ValueError` or `IndexError` for what is no certificate."""
    body, algorithm, _signature = _items(_only(der, _SEQUENCE))
    fields = [item for item in _items(body.content) if item.tag != _VERSION]
    _serial, _algorithm, issuer, validity, subject, public_key, *others = fields
    begins, ends = _items(validity.content)
    extensions = dict(_extensions(others))
    key, bits = _key(public_key.content)
    return X509(
        der=der,
        subject=_name(subject.content),
        issuer=_name(issuer.content),
        issued_to=subject.content,
        issued_by=issuer.content,
        names=tuple(_alternatives(extensions.get(_ALT_NAMES, b""))),
        not_before_s=_time(begins),
        not_after_s=_time(ends),
        key=key,
        key_bits=bits,
        weak_signature=_WEAK_SIGNATURES.get(next(_items(algorithm.content)).content.hex(), ""),
    )


def _name(content: bytes) -> str:
    """`CN=router, O=Example`, as people read it; attributes of other kinds are left out."""
    found = []
    for part in _items(content):
        for attribute in _items(part.content):
            oid, value = _items(attribute.content)
            known = _ATTRIBUTES.get(oid.content.hex())
            if known:
                encoding = "utf-16-be" if value.tag == 0x1E else "utf-8"
                text = value.content.decode(encoding, errors="replace")
                found.append(f"{known}={''.join(c if c.isprintable() else '?' for c in text)}")
    return ", ".join(reversed(found))


def _time(item: _Item) -> int:
    text = item.content.decode("ascii")
    if item.tag == _UTC_TIME:  # two digits of the year: 1950 to 2049 (RFC 5280, 4.1.2.5.1)
        text = ("19" if int(text[:2]) >= 50 else "20") + text
    return calendar.timegm(time.strptime(text, "%Y%m%d%H%M%SZ"))


def _key(content: bytes) -> tuple[str, int]:
    algorithm, bits = _items(content)
    oid, *parameters = _items(algorithm.content)
    kind = oid.content.hex()
    if kind == _RSA:
        modulus, _exponent = _items(_only(bits.content[1:], _SEQUENCE))
        length = int.from_bytes(modulus.content, "big").bit_length()
        return f"RSA {length}", length
    if kind == _EC:
        name, length = _CURVES.get(parameters[0].content.hex(), ("of an unknown curve", 0))
        return f"EC {name}", length
    return ("Ed25519", 256) if kind == _ED25519 else ("of an unknown kind", 0)


def _extensions(others: Sequence[_Item]) -> Iterator[tuple[str, bytes]]:
    for item in others:
        if item.tag == _EXTENSIONS:
            for extension in _items(_only(item.content, _SEQUENCE)):
                oid, *_critical, value = _items(extension.content)
                yield oid.content.hex(), value.content


def _alternatives(content: bytes) -> Iterator[str]:
    for item in _items(_only(content, _SEQUENCE)) if content else ():
        if item.tag == _NAME_DNS:
            yield item.content.decode("ascii", errors="replace")
        elif item.tag == _NAME_IP:
            yield str(ip_address(item.content))
