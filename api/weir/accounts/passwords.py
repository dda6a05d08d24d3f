# SPDX-License-Identifier: Apache-2.0
"""Passwords: argon2id hashes, what a password must be, and random ones that can be read out."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from itertools import islice, pairwise
from pathlib import Path

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from weir.model.problem import Invalid, Unavailable

MIN_CHARS = 10
MAX_CHARS = 256
LEAST_DIFFERENT = 5
MOST_APPENDED = 5
"""A common password with so few characters around it that are no letters is tried right after it."""
ROWS = ("01234567890", "abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "asdfghjkl", "zxcvbnm")
LOOKALIKES = str.maketrans("@4301!5$7", "aaeoiisst")
COMMON = Path(__file__).with_name("common-passwords.txt")
HEADER_LINES = 3
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without letters and digits that look alike."""
GROUPS, GROUP_CHARS = 4, 5  # 31^20: 99 bits

# OWASP's second recommendation for argon2id (19 MiB, t=2, p=1): a router has little memory to spare.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1, type=Type.ID)
_AT_ONCE = threading.BoundedSemaphore(2)
"""Each hash takes 19 MiB and a core for a moment: an attacker gets two of each at most."""
_WAIT_S = 20.0


def check_rules(password: str, username: str, path: str = "password") -> None:
    """Raises `Invalid` (`weak-password`) that says what is wrong with it; `path` names the field."""
    folded = password.casefold()
    reason = None
    if len(password) < MIN_CHARS:
        reason = f"must have at least {MIN_CHARS} characters"
    elif len(password) > MAX_CHARS:
        reason = f"must have at most {MAX_CHARS} characters"
    elif username.casefold() in folded:
        reason = "must not contain the user's name"
    elif is_easy(folded):
        reason = "is among the first that somebody would try"
    if reason is not None:
        raise Invalid(f"the password {reason}", code="weak-password", path=path)


def is_easy(folded: str) -> bool:
    """Whether a case-folded password is one of the most used ones, a variation of one, or rows of keys."""
    if len(set(folded)) < LEAST_DIFFERENT or _runs(folded) <= len(folded) // 4:
        return True
    tried = {text for form in _without_ends(folded) for text in (form, form.translate(LOOKALIKES))}
    with COMMON.open(encoding="utf-8") as lines:
        return any(line.rstrip("\n") in tried for line in islice(lines, HEADER_LINES, None))


def _without_ends(text: str) -> set[str]:
    """The text, and what is left without a few characters at its ends that are no letters; without a
    repetition of itself, too."""
    found = {text}
    stripped = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", text)
    if len(text) - len(stripped) <= MOST_APPENDED:
        found.add(stripped)
    for form in tuple(found):
        half = form[: len(form) // 2]
        if form == half * 2:
            found.add(half)
    return found


def _runs(text: str) -> int:
    """How many pieces of rows of keys, of the alphabet, forwards or backwards, or of one character."""
    return 1 + sum(not _neighbours(a, b) for a, b in pairwise(text))


def _neighbours(a: str, b: str) -> bool:
    return a == b or any(a + b in row or b + a in row for row in ROWS)


def random_password() -> str:
    """99 random bits in four groups, to be read from a screen and typed once."""
    groups = ("".join(secrets.choice(ALPHABET) for _ in range(GROUP_CHARS)) for _ in range(GROUPS))
    return "-".join(groups)


def hash_password(password: str) -> str:
    with _Slot():
        return _HASHER.hash(_bytes(password))


def hash_secret(secret: str) -> bytes:
    """SHA-256, for what is 99 random bits and more: it needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def verify(password_hash: str, password: str) -> bool:
    """Takes as long for a wrong password as for the right one."""
    with _Slot():
        try:
            return _HASHER.verify(password_hash, _bytes(password[: 4 * MAX_CHARS]))
        except (VerificationError, InvalidHashError):
            return False


def is_outdated(password_hash: str) -> bool:
    """True when the hash was made with other parameters than today's."""
    return _HASHER.check_needs_rehash(password_hash)


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")


class _Slot:
    def __enter__(self) -> None:
        if not _AT_ONCE.acquire(timeout=_WAIT_S):
            raise Unavailable("too many sign-ins at once; try again", code="sign-in-busy")

    def __exit__(self, *_exception: object) -> None:
        _AT_ONCE.release()


UNKNOWN_USER_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$VYw0RchMJmBExpc53aUYWg$owcDTKN0C4/V2adE2h/+HggFzJ50FGYcsCMmUKsDTRk"
)
"""What the password of somebody who does not exist is compared with, to take the same time: of 32 random
bytes that nobody kept, as a hash made here would take a tenth of the API's start."""
