# SPDX-License-Identifier: Apache-2.0
"""Signatures by keys of others, checked by OpenSSL's libcrypto, which Python's own `ssl` and `hashlib` stand
on.

Algorithms have the numbers of COSE (RFC 9053; RFC 8812 for RSA). Keys are a SubjectPublicKeyInfo in DER. The
functions are those of EVP_DigestVerify(3) and d2i_PUBKEY(3).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

ES256, EDDSA, RS256 = -7, -8, -257
ALGORITHMS = (ES256, EDDSA, RS256)
MAX_KEY_BYTES = 600
"""Of an RSA key of 4096 bits: 550."""
MAX_SIGNATURE_BYTES = 512
_LEAST_RSA_BITS, _MOST_RSA_BITS = 2048, 4096
_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")
_ED25519 = bytes.fromhex("302a300506032b6570032100")
_RSA = 6
"""NID_rsaEncryption: not RSA-PSS, which is another algorithm."""
_FUNCTIONS: dict[str, tuple[type | None, tuple[type, ...]]] = {
    "d2i_PUBKEY": (ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long)),
    "EVP_PKEY_free": (None, (ctypes.c_void_p,)),
    "EVP_PKEY_get_base_id": (ctypes.c_int, (ctypes.c_void_p,)),
    "EVP_PKEY_get_bits": (ctypes.c_int, (ctypes.c_void_p,)),
    "EVP_MD_CTX_new": (ctypes.c_void_p, ()),
    "EVP_MD_CTX_free": (None, (ctypes.c_void_p,)),
    "EVP_sha256": (ctypes.c_void_p, ()),
    "EVP_DigestVerifyInit": (ctypes.c_int, (ctypes.c_void_p,) * 5),
    "EVP_DigestVerify": (
        ctypes.c_int,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t),
    ),
    "ERR_clear_error": (None, ()),
}


def is_usable(key: bytes, algorithm: int) -> bool:
    """Whether it is a whole key of this algorithm, and no weak one: P-256, Ed25519, RSA of 2048 to 4096
    bits."""
    with _opened(key, algorithm) as opened:
        return opened is not None


def is_signed(key: bytes, algorithm: int, signature: bytes, data: bytes) -> bool:
    """Whether the key's owner signed `data`. Any bytes may be given; those that make no sense are no
    signature."""
    if len(signature) > MAX_SIGNATURE_BYTES:
        return False
    with _opened(key, algorithm) as opened:
        if opened is None:
            return False
        crypto = _crypto()
        context = crypto.EVP_MD_CTX_new()
        try:
            digest = None if algorithm == EDDSA else crypto.EVP_sha256()
            return bool(
                crypto.EVP_DigestVerifyInit(context, None, digest, None, opened) == 1
                and crypto.EVP_DigestVerify(context, signature, len(signature), data, len(data)) == 1
            )
        finally:
            crypto.EVP_MD_CTX_free(context)


@contextmanager
def _opened(key: bytes, algorithm: int) -> Iterator[int | None]:
    """OpenSSL's form of a key; None for what is none of the algorithm."""
    crypto = _crypto()
    opened = None
    try:
        if _has_form(key, algorithm):
            buffer = ctypes.create_string_buffer(key, len(key))
            at = ctypes.c_void_p(ctypes.addressof(buffer))
            opened = crypto.d2i_PUBKEY(None, ctypes.byref(at), len(key))
            is_whole = opened and at.value == ctypes.addressof(buffer) + len(key)
            yield opened if is_whole and (algorithm != RS256 or _is_good_rsa(opened)) else None
        else:
            yield None
    finally:
        crypto.EVP_PKEY_free(opened)
        crypto.ERR_clear_error()  # what it says of this key is nothing to who uses TLS in this thread next


def _has_form(key: bytes, algorithm: int) -> bool:
    """By its first bytes and its length, which name the curve."""
    if algorithm == ES256:
        return key.startswith(_P256) and len(key) == len(_P256) + 64
    if algorithm == EDDSA:
        return key.startswith(_ED25519) and len(key) == len(_ED25519) + 32
    return algorithm == RS256 and 0 < len(key) <= MAX_KEY_BYTES


def _is_good_rsa(opened: int) -> bool:
    crypto = _crypto()
    bits, kind = int(crypto.EVP_PKEY_get_bits(opened)), int(crypto.EVP_PKEY_get_base_id(opened))
    return kind == _RSA and _LEAST_RSA_BITS <= bits <= _MOST_RSA_BITS


@cache
def _crypto() -> ctypes.CDLL:
    """Loaded when it is first needed. Raises `OSError` where there is no OpenSSL 3."""
    library = ctypes.CDLL("libcrypto.so.3")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
