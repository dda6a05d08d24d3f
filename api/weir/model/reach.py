# SPDX-License-Identifier: Apache-2.0
"""Where a message can be sent: a mailbox, or an address in the web."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from weir.model.address import is_dns_name, parse_host_or_name
from weir.model.problem import Invalid
from weir.model.reader import shown

MAX_MAILBOX_CHARS = 254
"""RFC 5321, 4.5.3.1.3, with the erratum 1690 of RFC 3696."""
MAX_URL_CHARS = 2000
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
"""A dot-atom (RFC 5322, 3.2.3)."""
_URL = re.compile(r"[!-~]+")


def parse_mailbox(value: object) -> str:
    """`noc@example.net`, the name of the domain in lower case. Raises `Invalid`: also for an address of a
    server in place of a domain (RFC 5321, 4.1.3)."""
    text = value if isinstance(value, str) else ""
    local, at, domain = text.rpartition("@")
    try:
        if not at or len(text) > MAX_MAILBOX_CHARS or len(local) > 64 or not _LOCAL.fullmatch(local):
            raise Invalid("")
        if not is_dns_name(domain):
            raise Invalid("")
        host = parse_host_or_name(domain)
    except Invalid:
        text = f"must be a mail address such as noc@example.net, not {shown(value)}"
        raise Invalid(text, code="bad-mailbox") from None
    return f"{local}@{host}"


def parse_url(value: object) -> str:
    """`https://host/path`, also with `http`, the scheme in lower case (RFC 3986, 3.1). Raises `Invalid`: also
    for one with a user or a fragment."""
    wanted = "must be an address such as https://chat.example.net/hooks/router"
    if not isinstance(value, str) or len(value) > MAX_URL_CHARS or not _URL.fullmatch(value):
        raise Invalid(f"{wanted}, not {shown(value)}", code="bad-url")
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError as error:
        raise Invalid(f"{wanted}, not {shown(value)}", code="bad-url") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise Invalid(f"{wanted}, not {shown(value)}", code="bad-url")
    if parts.username is not None or parts.fragment:
        raise Invalid(f"{wanted}, without a user, a password or a fragment", code="bad-url")
    parse_host_or_name(parts.hostname)
    return parts.scheme + value[len(parts.scheme) :]
