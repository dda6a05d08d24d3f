# SPDX-License-Identifier: Apache-2.0
"""One mail by SMTP (RFC 5321), encrypted by STARTTLS (RFC 3207) or from the start (RFC 8314)."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import policy
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any

from weir.courier.dial import STEP_S, Failed, dial, reply, trusting

_POLICY = policy.SMTP.clone(cte_type="7bit")
_PARTING_S = 1.0


class _Plain(smtplib.SMTP):
    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return dial(host, port)


class _Encrypted(_Plain):
    def __init__(self, context: ssl.SSLContext, **said: Any) -> None:
        self._context = context
        super().__init__(**said)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._context.wrap_socket(dial(host, port), server_hostname=host)


def send(order: dict[str, Any]) -> str:
    """What the server answered to the whole message. Raises `Failed`, `OSError` or `SMTPException`."""
    with _session(order) as session:
        session.ehlo_or_helo_if_needed()
        if order["security"] == "starttls":
            session.starttls(context=trusting(order["ca_bundle"]))
            session.ehlo()
        if order["username"]:
            session.login(order["username"], order["secret"])
        _expect("the sender", *session.mail(order["sender"]))
        refused = [text for text in (_refusal(session, name) for name in order["recipients"]) if text]
        if len(refused) == len(order["recipients"]):
            raise Failed("; ".join(refused))
        code, text = session.data(message_of(order).as_bytes(policy=_POLICY))
        _expect("the message", code, text)
        return "; but ".join((reply(code, text), *refused))


@contextmanager
def _session(order: dict[str, Any]) -> Iterator[smtplib.SMTP]:
    """One that ends with QUIT (RFC 5321, 4.1.1.10). What the server says to that changes nothing: it has
    taken the mail, or has not."""
    session = _opened(order)
    try:
        yield session
    finally:
        with suppress(smtplib.SMTPException, OSError):  # a failed STARTTLS leaves a socket that is no more
            if session.sock is not None:
                session.sock.settimeout(_PARTING_S)
            session.quit()
        session.close()


def _opened(order: dict[str, Any]) -> smtplib.SMTP:
    said: dict[str, Any] = {
        "host": order["server"],
        "port": order["port"],
        "local_hostname": order["router"],
        "timeout": STEP_S,
    }
    if order["security"] == "tls":
        return _Encrypted(trusting(order["ca_bundle"]), **said)
    return _Plain(**said)


def _refusal(session: smtplib.SMTP, recipient: str) -> str:
    code, text = session.rcpt(recipient)
    return "" if code in (250, 251) else f"it refused {recipient}: {reply(code, text)}"


def _expect(what: str, code: int, text: bytes) -> None:
    if code != 250:
        raise Failed(f"it refused {what}: {reply(code, text)}")


def message_of(order: dict[str, Any]) -> EmailMessage:
    """The mail; its `Message-ID` is the message's, so that a second copy is known as one."""
    message = EmailMessage()
    message["From"] = order["sender"]
    message["To"] = ", ".join(order["recipients"])
    message["Subject"] = order["subject"]
    message["Date"] = formatdate(order["at_ms"] / 1000)
    message["Message-ID"] = f"<{order['id']}@{order['router']}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody is to answer by a program
    message.set_content(order["text"])
    return message
