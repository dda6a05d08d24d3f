# SPDX-License-Identifier: Apache-2.0
"""What the operator changes of the product's tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Table, Text
from weir.kinds.declaration import Declaration
from weir.model.limits import MAX_NAME_CHARS, MAX_OVERRIDES
from weir.model.objects import ConfigObject, Kind


@dataclass(frozen=True, slots=True)
class Tuning(ConfigObject):
    """What differs from the product's own values.

    Which settings there are is data of the image, so an id that this release does not know is kept and has
    no effect.
    """

    kind: ClassVar[Kind] = "tuning"
    id: str = "tuning"
    overrides: Annotated[
        tuple[tuple[str, str], ...],
        Table(
            Text(MAX_NAME_CHARS),
            MAX_OVERRIDES,
            help="Id of a setting to the value in its place; an empty one leaves the kernel's. "
            "Without an entry the product's value applies. `setting.eth1` is for that interface alone and "
            "comes before the entry of the setting.",
        ),
    ] = ()


KIND = Declaration(
    Tuning,
    singular="tuning",
    plural="tuning",
    short="tuning",
    about="Settings of kernel and network cards, with their reasons; each can be overridden.",
    is_single=True,
    area="System",
    adds=("settings", "settings_reason"),
)
