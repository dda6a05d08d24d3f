# SPDX-License-Identifier: Apache-2.0
"""The one truth on disk: configuration with its history, and (in a file of its own) the accounts.

What has these names is loaded when somebody asks for it: a process that makes no objects needs no kinds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weir.store.configuration import ConfigStore
    from weir.store.listing import Listing, Page
    from weir.store.rows import Damage, Event, Pending, Revision, Stored
    from weir.store.transaction import ReadTransaction, WriteTransaction

__all__ = [
    "ConfigStore",
    "Damage",
    "Event",
    "Listing",
    "Page",
    "Pending",
    "ReadTransaction",
    "Revision",
    "Stored",
    "WriteTransaction",
]

_MODULES = {"ConfigStore": "configuration", "Listing": "listing", "Page": "listing"}
_MODULES |= dict.fromkeys(("ReadTransaction", "WriteTransaction"), "transaction")


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"weir.store.{_MODULES.get(name, 'rows')}"), name)
