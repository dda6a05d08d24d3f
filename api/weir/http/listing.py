# SPDX-License-Identifier: Apache-2.0
"""Lists that have more than the stored objects of a kind."""

from __future__ import annotations

from collections.abc import Collection

from weir.http.context import me, service
from weir.model.objects import Kind
from weir.service import Listing


def found_among(kind: Kind, ids: Collection[str], text: str | None) -> Collection[str]:
    """Those of the ids that a search text finds: by what is stored of them, or by the id alone."""
    if not text:
        return ids
    stored = service().config.matching(me(), Listing(kind, text=text))
    piece = text.strip().casefold()
    return [name for name in ids if name in stored or piece in name.casefold()]
