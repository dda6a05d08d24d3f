# SPDX-License-Identifier: Apache-2.0
"""A router that tells of its findings, and the servers' certificates that it knows or does not know."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agent.receivers import certificate
from tests.agent.rig import Rig, lan, running, wan
from weir.kinds.alert_target import AlertTarget
from weir.kinds.secrets import place_of
from weir.sealing import seal

SERVER, OTHER = "203.0.113.1", "203.0.113.9"
PASSWORD = "ju8-password-of-the-router"
NOBODY = "65534"


@dataclass
class Made:
    rig: Rig
    trusted: ssl.SSLContext
    strange: ssl.SSLContext
    misnamed: ssl.SSLContext
    bundle: Path


@contextmanager
def alerting(folder: Path) -> Iterator[Made]:
    """A router; `folder` is for the servers' certificates."""
    trusted, context = certificate(folder, "trusted", SERVER)
    other, misnamed = certificate(folder, "misnamed", OTHER)
    _, strange = certificate(folder, "strange", SERVER)
    bundle = Path(f"/run/weir-alerts-test-{os.getpid()}.pem")
    bundle.write_text(trusted.read_text() + other.read_text())
    try:
        with running("--look-interval-s", "0.2", "--ca-bundle", str(bundle)) as rig:
            rig.commit(lan(), wan())
            yield Made(rig, context, strange, misnamed, bundle)
    finally:
        bundle.unlink()


def sealed(rig: Rig, target: str, path: str, text: str) -> str:
    key = base64.b64decode(rig.agent.call("secrets_key")["key"])
    return seal(key, place_of("alert-target", target, path), text)


def mail(port: int, **more: Any) -> AlertTarget:
    said = {"security": "none", "sender": "router@example.net", "recipients": ("noc@example.net",)}
    return AlertTarget("noc", "mail", **{"server": SERVER, "port": port, **said, **more})


def hook(port: int, scheme: str = "http", **more: Any) -> AlertTarget:
    return AlertTarget("chat", "webhook", url=f"{scheme}://{SERVER}:{port}/hooks/1?a=b", **more)


def asked(rig: Rig, target: str) -> dict[str, Any]:
    return rig.agent.call("alert_test", {"id": target, "by": "admin"})


def refused(rig: Rig, target: str) -> str:
    answer = asked(rig, target)
    assert not answer["delivered"], answer
    return str(answer["answer"])


def state(rig: Rig, target: str) -> dict[str, Any]:
    found = rig.agent.call("state", {"kind": "alert-target", "ids": [target]})["objects"]
    return dict(found.get(target, {}))


def sick(rig: Rig) -> None:
    """A port with one lock for four queues: the finding `one-lock` of spare0, a notice."""
    rig.run("ip", "link", "add", "spare0", "numtxqueues", "4", "type", "veth", "peer", "name", "spare1")
    rig.run("ip", "link", "set", "spare0", "up")
    rig.run("tc", "qdisc", "replace", "dev", "spare0", "root", "pfifo")


def healed(rig: Rig) -> None:
    rig.run("ip", "link", "delete", "spare0")


def forget(rig: Rig) -> None:
    """No targets and rules, so that each test begins with none."""
    rules = [("alert-rule", name) for name in ("all", "worse", "other", "off")]
    targets = [("alert-target", name) for name in ("noc", "chat")]
    with rig.store.write() as transaction:
        held = [key for key in (*rules, *targets) if transaction.stored(*key) is not None]
    rig.commit(delete=held)
