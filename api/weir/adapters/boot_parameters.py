# SPDX-License-Identifier: Apache-2.0
"""The operator's own kernel parameters of the next start (board/overlay/usr/libexec/weir/boot-parameters).

The boot loader tries them in one start, and gives them up unless the system that was started with them is
called good (docs/adr/0227). The boot partition is seen by a unit of its own, so both sides leave a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from weir.adapters.files import replace
from weir.adapters.process import run
from weir.model.problem import ApplyFailed, Unavailable

UNIT = "weir-boot-parameters.service"
MAX_CHARS = 300
"""Of all words (`parameters_bytes` of board/overlay/usr/libexec/weir/boot-choice)."""
_VALUE = re.compile(r"[A-Za-z0-9_.,:-]{1,64}")
_STATES = ("none", "new", "tried", "good")


@dataclass(frozen=True, slots=True)
class Next:
    """`words` are in the place of the image's own; none when `state` is `none`.

    `new`: the next start tries them. `tried`: one start did, and did not call itself good so far. `good`: one
    did.
    """

    state: Literal["none", "new", "tried", "good"]
    words: tuple[str, ...] = ()


class BootParameters:
    """`wanted` is in a folder of root's own that lasts, `told` in one that is empty after a start."""

    def __init__(
        self,
        wanted: Path,
        told: Path = Path("/run/weir-boot/parameters"),
        execute: Callable[[Sequence[str]], object] = run,
    ) -> None:
        self._wanted = wanted
        self._told = told
        self._execute = execute

    def were_set(self) -> bool:
        """Whether the boot loader may have some; no program is asked."""
        return self._told.exists() or self._wanted.exists()

    def next(self) -> Next:
        """What the boot loader has. Raises `Unavailable` with the reason where that cannot be known."""
        if not self._told.exists():
            self._execute(["systemctl", "start", UNIT])
        try:
            state, _, words = self._told.read_text(encoding="utf-8").strip().partition(" ")
        except (OSError, UnicodeDecodeError) as error:
            raise Unavailable(f"the boot loader cannot be asked: {error}", code="boot-loader") from error
        if state not in _STATES:
            raise Unavailable(f"the boot loader said: {words or state}", code="boot-loader")
        return Next(cast(Literal["none", "new", "tried", "good"], state), tuple(words.split()))

    def set(self, words: Sequence[str]) -> None:
        """Without any it is the image's own. Raises `ApplyFailed` for what is no parameter, `Unavailable`."""
        for word in words:
            if not _VALUE.fullmatch(word.partition("=")[2]):
                raise ApplyFailed(
                    f"{word!r} is no boot parameter: letters, digits and . , : _ - only, 64 at most",
                    code="setting-refused",
                )
        text = " ".join(words)
        if len(text) > MAX_CHARS:
            raise ApplyFailed(
                f"the boot parameters have {len(text)} characters, of {MAX_CHARS} at most",
                code="setting-refused",
            )
        try:
            replace(self._wanted, f"{text}\n".encode(), durable=True)
        except OSError as error:
            raise ApplyFailed(
                f"the boot parameters cannot be written: {error.strerror}", code="setting-refused"
            ) from error
        self._execute(["systemctl", "start", UNIT])
