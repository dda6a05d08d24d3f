# SPDX-License-Identifier: Apache-2.0
"""Configurations of other systems, read into Weir's objects with a report on every line; and Weir's own CSV.

A reader takes whole files as bytes and returns an `ImportReport`. It raises `Invalid` when the files
cannot be of that format at all (empty, too large, an archive, a picture, a web page); whatever else is
wrong is said in the report. Readers write nothing: the caller compares the report's objects with the
document.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module

from weir.formats.report import ImportReport, Line
from weir.formats.text import check_files
from weir.model.document import Document
from weir.model.problem import Invalid

Reader = Callable[[Mapping[str, bytes], Document], ImportReport]

FORMATS = ("routeros", "libreqos", "csv")
"""Each is a module of this package that reads it. Imported when a file comes: the API starts without them."""

__all__ = ["FORMATS", "ImportReport", "Line", "read"]


def read(format: str, files: Mapping[str, bytes], existing: Document | None = None) -> ImportReport:
    """Read `files` (name to bytes) as one import of `format`.

    `existing` is the document the import will be committed to: queues of the same name are updated.
    Raises `Invalid` for an unknown format and for files that no report can be made of.
    """
    if format not in FORMATS:
        raise Invalid(
            f"{format!r} is no import format; there are {', '.join(FORMATS)}.", code="unknown-format"
        )
    check_files(files)
    reader: Reader = import_module(f"{__name__}.{format}").read
    with _no_cycle_collection():
        return reader(files, existing if existing is not None else Document())


@contextmanager
def _no_cycle_collection() -> Iterator[None]:
    """Readers make a million objects and no cycles; the search for cycles took 40 % of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
