# SPDX-License-Identifier: Apache-2.0
"""By which names the router is itself, as it is configured."""

from __future__ import annotations

from weir.kinds.certificate import Certificate
from weir.kinds.identity import Identity, is_host_name
from weir.kinds.management import Management, names_of
from weir.model.document import Document


def own_names(document: Document) -> frozenset[str]:
    """The host name, and the names of the certificate that the web interface shows. A name with `*` is
    none."""
    found = document.of_kind("certificate").get(document.single(Management).certificate or "")
    names = (document.single(Identity).hostname, *(names_of(found) if isinstance(found, Certificate) else ()))
    return frozenset(name.lower() for name in names if name is not None and is_host_name(name))
