# SPDX-License-Identifier: Apache-2.0
"""The one truth on disk: configuration with its history, and (in a file of its own) the accounts."""

from weir.store.configuration import ConfigStore
from weir.store.listing import Listing, Page
from weir.store.rows import Pending, Revision, Stored, Version
from weir.store.transaction import WriteTransaction

__all__ = [
    "ConfigStore",
    "Listing",
    "Page",
    "Pending",
    "Revision",
    "Stored",
    "Version",
    "WriteTransaction",
]
