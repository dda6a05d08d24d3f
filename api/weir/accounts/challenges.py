# SPDX-License-Identifier: Apache-2.0
"""Challenges that security keys are asked to sign: each for one account and purpose, good once and not for
long.

In memory, as the API is one process (docs/adr/0031): a restart forgets them, and the browser asks again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from weir.accounts.webauthn import CHALLENGE_BYTES, Site, Unfit, read_client_data

LIFE_S = 120
SIGN_IN = "sign-in"
MOST_OF_ONE = 8
"""Of one account; the oldest goes. Only who knows its password gets any."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`purpose` is `SIGN_IN`, or the session that adds a key."""

    purpose: str
    site: Site
    until_s: float


class Challenges:
    """Thread-safe. `now` is a clock in seconds that is never set."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._of: dict[int, dict[bytes, Asked]] = {}

    def make(self, user_id: int, purpose: str, site: Site) -> bytes:
        """A new one, good for `LIFE_S`."""
        challenge = secrets.token_bytes(CHALLENGE_BYTES)
        with self._lock:
            self._drop_old()
            own = self._of.setdefault(user_id, {})
            if len(own) == MOST_OF_ONE:
                del own[next(iter(own))]
            own[challenge] = Asked(purpose, site, self._now() + LIFE_S)
        return challenge

    def redeem(self, user_id: int, purpose: str, client_data: bytes) -> Site:
        """The site that the answered one was made for; it is used up, whatever becomes of the answer. Raises
        `Unfit`: also where the browser was at another address."""
        said = read_client_data(client_data, "webauthn.get" if purpose == SIGN_IN else "webauthn.create")
        with self._lock:
            self._drop_old()
            asked = self._of.get(user_id, {}).pop(said.challenge, None)
        if asked is None or asked.purpose != purpose:
            raise Unfit("it came too late, or was used already: try again")
        if said.origin != asked.site.origin:
            raise Unfit(f"the browser was not at {asked.site.origin} when it asked the key")
        return asked.site

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def _drop_old(self) -> None:
        now_s = self._now()
        for user_id, own in list(self._of.items()):
            for challenge in [key for key, asked in own.items() if asked.until_s <= now_s]:
                del own[challenge]
            if not own:
                del self._of[user_id]
