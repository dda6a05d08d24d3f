# SPDX-License-Identifier: Apache-2.0
"""Keys and certificates as OpenSSL makes them and takes them. Of a key nothing is printed, and what is only
looked at is in memory."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from weir.adapters.process import run
from weir.model.address import is_dns_name
from weir.model.problem import Invalid

VALID_DAYS = 825
"""The longest that Apple's systems accept."""
MAX_COMMON_NAME_CHARS = 64
"""RFC 5280, ub-common-name."""
_MAKING_S = 20.0
"""A key of 4,096 bits takes seconds on a slow processor."""
_KEYS = {
    "p256": ("EC", "ec_paramgen_curve:P-256"),
    "p384": ("EC", "ec_paramgen_curve:P-384"),
    "rsa2048": ("RSA", "rsa_keygen_bits:2048"),
    "rsa4096": ("RSA", "rsa_keygen_bits:4096"),
}
_SAYS = {
    "KEY_VALUES_MISMATCH": "is not the key of this certificate",
    "KEY_TYPE_MISMATCH": "is not the key of this certificate: it is of another kind",
    "EE_KEY_TOO_SMALL": "has a key that is too short",
    "CA_KEY_TOO_SMALL": "has an issuer whose key is too short",
    "CA_MD_TOO_WEAK": "is signed in a way that is too weak",
}
"""By OpenSSL's reason; `key` where it is the key's field."""


def check(key: str, chain: str) -> None:
    """Have OpenSSL take both as a server does, the web server among them. Raises `Invalid`, with the name of
    the field as its path."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        with _in_memory(chain) as chain_file, _in_memory(key) as key_file:
            context.load_cert_chain(chain_file, key_file, lambda: b"")
    except (ssl.SSLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or "it cannot be read"
        said = _SAYS.get(reason, f"is refused by OpenSSL: {str(reason).replace('_', ' ').lower()}")
        field = "key" if reason.startswith("KEY_") or reason not in _SAYS else "chain"
        code = "key-mismatch" if reason.startswith("KEY_") else "certificate-refused"
        raise Invalid(said, code=code, path=field) from error


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """The name of a file that is on no disk."""
    handle = os.memfd_create("weir-certificate", os.MFD_CLOEXEC)
    try:
        os.write(handle, text.encode())
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def make_key(key_type: str) -> str:
    """In PEM. Raises as `process.run`."""
    algorithm, option = _KEYS[key_type]
    return run(("openssl", "genpkey", "-algorithm", algorithm, "-pkeyopt", option), timeout_s=_MAKING_S)


def request(key: str, names: Sequence[str]) -> str:
    """A request for a certificate of `key` (PKCS #10), in PEM. Raises as `process.run`."""
    alternatives = ",".join(f"DNS:{name}" for name in names)
    asked = ("openssl", "req", "-new", "-key", "/dev/stdin", "-sha256", "-subj", "/")
    return run((*asked, "-addext", f"subjectAltName={alternatives}"), text=key)


def sign_oneself(key: str, names: Sequence[str]) -> str:
    """A certificate of `key` for these names and addresses, in PEM. Raises as `process.run`."""
    alternatives = ",".join(f"{'DNS' if is_dns_name(name) else 'IP'}:{name}" for name in names)
    common = next((f"/CN={name}" for name in names if len(name) <= MAX_COMMON_NAME_CHARS), "")
    return run(
        (
            *("openssl", "req", "-x509", "-new", "-key", "/dev/stdin", "-sha256", "-days", str(VALID_DAYS)),
            *("-subj", f"/O=Weir{common}", "-addext", f"subjectAltName={alternatives}"),
            *("-addext", "basicConstraints=critical,CA:FALSE"),
            *("-addext", "keyUsage=critical,digitalSignature", "-addext", "extendedKeyUsage=serverAuth"),
        ),
        text=key,
    )
