# SPDX-License-Identifier: Apache-2.0
"""What the router can be asked to do. `Service` is the only way in for HTTP; every method but signing
in and authenticating takes the `Principal` who asks and checks what that one may do."""

from weir.model.scope import Scope
from weir.service.field_changes import FieldChange
from weir.service.service import Service
from weir.service.types import (
    ABSENT,
    ANYTHING,
    CandidateDiff,
    CandidateView,
    Committed,
    Confirmation,
    Diff,
    Edit,
    HistoryEntry,
    ObjectDiff,
    PendingView,
)
from weir.store import Listing, Page, Revision, Stored
from weir.store.account_rows import AuditEntry, Session, Token, User

__all__ = [
    "ABSENT",
    "ANYTHING",
    "AuditEntry",
    "CandidateDiff",
    "CandidateView",
    "Committed",
    "Confirmation",
    "Diff",
    "Edit",
    "FieldChange",
    "HistoryEntry",
    "Listing",
    "ObjectDiff",
    "Page",
    "PendingView",
    "Revision",
    "Scope",
    "Service",
    "Session",
    "Stored",
    "Token",
    "User",
]
