# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.courier PARENT SECONDS`: an order as JSON at standard input, and what became of it at
standard output. It gives up all rights before it reads the order."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from http.client import HTTPException
from smtplib import SMTPException
from typing import Any

from weir.courier import mail, webhook
from weir.courier.dial import Failed, words_of
from weir.probes.confine import confine
from weir.redaction import redacted

MOST_CHARS = 400
SENDS: dict[str, Callable[[dict[str, Any]], str]] = {"mail": mail.send, "webhook": webhook.send}


def main(argv: list[str]) -> int:
    """0 whatever became of it, once that is said."""
    parent, seconds = argv
    confine(int(parent), float(seconds))
    order = json.load(sys.stdin)
    try:
        is_delivered, said = True, SENDS[order["type"]](order)
    except (Failed, OSError, SMTPException, HTTPException) as error:
        is_delivered, said = False, words_of(error)
    json.dump({"delivered": is_delivered, "answer": shown(said, order)}, sys.stdout)
    return 0


def shown(text: str, order: dict[str, Any]) -> str:
    """One printable line of bounded length, without the secret: a server may repeat what it was sent."""
    text = redacted(text, order["secret"], order["username"])
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:MOST_CHARS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
