# SPDX-License-Identifier: Apache-2.0
"""The one truth on disk: configuration with its history, and (in a file of its own) the accounts."""

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
