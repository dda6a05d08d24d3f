# SPDX-License-Identifier: Apache-2.0
"""Which credentials were good lately: their requests have threads that strangers cannot occupy.

This admits nobody: `weir.http.security` looks at every request. It only says which queue a request waits in.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable

MOST = 4096
_SESSION = re.compile(r"(?:^|;)\s*weir_session=([^;]*)")


def credential_of(headers: Iterable[tuple[str, str]]) -> bytes | None:
    """A digest of the token or session that a request shows, if it shows one."""
    shown = None
    for name, value in headers:
        if name == "AUTHORIZATION":
            shown = value
            break
        if name == "COOKIE" and (found := _SESSION.search(value)):
            shown = found[1]
    if not shown:
        return None
    return hashlib.blake2b(shown.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Recognised:
    """Digests, the most recently used last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._digests: OrderedDict[bytes, None] = OrderedDict()

    def __contains__(self, digest: object) -> bool:
        return digest in self._digests

    def tell(self, digest: bytes | None, good: bool) -> None:
        """Remember or forget a credential."""
        if digest is None:
            return
        with self._lock:
            self._digests.pop(digest, None)
            if good:
                self._digests[digest] = None
            while len(self._digests) > MOST:
                self._digests.popitem(last=False)
