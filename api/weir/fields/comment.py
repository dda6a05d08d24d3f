# SPDX-License-Identifier: Apache-2.0
"""The field that objects of almost every kind have."""

from __future__ import annotations

from typing import Annotated

from weir.fields.texts import Text
from weir.model.limits import MAX_COMMENT_CHARS

Comment = Annotated[str, Text(MAX_COMMENT_CHARS, lines=True, help="A note for people.")]
