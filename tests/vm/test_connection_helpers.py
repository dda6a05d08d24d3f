# SPDX-License-Identifier: Apache-2.0
"""Helpers of connections beside the fast path: a connection that has one stays in the network stack."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from tests.agent import ftp_server
from tests.agent.rig import Rig, client_queue, lan, wan
from tests.polling import until
from weir.kinds.connection_helper import ConnectionHelper
from weir.kinds.firewall import Firewall

pytestmark = pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel")

SERVER, OFFLOADED = "203.0.113.1", "[OFFLOAD]"
HELPED = Firewall(helpers=(ConnectionHelper("ftp"),))
WORDS = 20


@pytest.fixture(scope="module")
def rig(bare_rig: Rig) -> Iterator[Rig]:
    with bare_rig.fitted_for_xdp():
        bare_rig.commit(lan(), wan(), Firewall(), client_queue(100_000_000))
        yield bare_rig


def tracked(rig: Rig, port: int) -> str:
    """What conntrack says of the session from this port of the client's."""
    lines = rig.run("conntrack", "-L", "-p", "tcp", "--dport", "21").splitlines()
    (found,) = (line for line in lines if re.search(rf" sport={port} dport=21 ", line))
    return found


def test_a_session_is_fast_without_a_helper_and_never_with_one(rig: Rig) -> None:
    """Also when rules change, which takes connections out of the flow table and lets them in again."""
    with ftp_server.serving(rig, rig.internet, SERVER):
        with ftp_server.session(rig.client_ns, SERVER, is_passive=False) as ftp:
            port = ftp.sock.getsockname()[1]

            def is_fast() -> bool:
                ftp.voidcmd("NOOP")
                return OFFLOADED in tracked(rig, port)

            until("a session without a helper is fast", is_fast)
            rig.commit(HELPED)
            until("one that exists has no helper, and is fast again", is_fast)
        with ftp_server.session(rig.client_ns, SERVER, is_passive=False) as ftp:
            port = ftp.sock.getsockname()[1]
            for firewall in (HELPED, Firewall(helpers=HELPED.helpers, allowed_wan_tcp_ports=(8080,))):
                rig.commit(firewall)
                for _ in range(WORDS):
                    ftp.voidcmd("NOOP")
                assert ftp_server.read(ftp) == ftp_server.CONTENT
                assert OFFLOADED not in tracked(rig, port) and "helper=ftp" in tracked(rig, port)
