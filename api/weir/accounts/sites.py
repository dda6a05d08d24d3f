# SPDX-License-Identifier: Apache-2.0
"""Where a security key may be added: by a name of the router, in a browser that keeps keys there.

What a request says of the host is only looked up among the configured names, so nobody adds a name by asking
for it.
"""

from __future__ import annotations

from collections.abc import Set
from ipaddress import ip_address
from urllib.parse import urlsplit

from weir.accounts.webauthn import Site
from weir.model.problem import Conflict

LOCAL = "localhost"
"""The visitor's own machine: a lab, or the near end of a tunnel. Browsers take keys there without TLS,
too."""


def site_of(scheme: str, host: str, names: Set[str]) -> Site:
    """Of a browser that has the router open at `scheme://host`. Raises `Conflict` (`keys-not-offered`), which
    says why there are no security keys and what to do."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        name = ""
    if name != LOCAL:
        _refuse_unnamed(name, names)
        if scheme != "https":
            raise _not_offered(f"browsers use security keys over HTTPS only; open https://{name}")
    return Site(f"{scheme}://{host.lower()}", name)


def _refuse_unnamed(name: str, names: Set[str]) -> None:
    if name in names:
        return
    if names:
        listed = " or ".join(f"https://{known}" for known in sorted(names)[:3])
        todo = f"open {listed}, with a certificate that the browser trusts"
    else:
        todo = (
            "give it a host name that your DNS leads to it (System > Identity) and a certificate for that "
            "name which the browser trusts (System > Certificates, Management), and open it by that name"
        )
    if _is_address(name):
        raise _not_offered(f"browsers use security keys with a name, not with the address {name}; {todo}")
    raise _not_offered(
        f"security keys are bound to a name of the router, and {name or 'this'} is none; {todo}"
    )


def _not_offered(text: str) -> Conflict:
    return Conflict(text, code="keys-not-offered")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
