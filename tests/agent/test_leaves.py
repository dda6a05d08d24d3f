# SPDX-License-Identifier: Apache-2.0
"""What a queue type becomes below an HTB class: every text is one that this machine's tc takes."""

from __future__ import annotations

import pytest

from weir.adapters import tc
from weir.backends.leaves import leaf_of
from weir.compiler import Waiting
from weir.compiler.waiting import waiting_of
from weir.model.document import Document
from weir.model.objects import QueueType

NO_FQ_CODEL = {"fq_codel": "Specified qdisc kind is unknown"}

TYPES = [
    pytest.param("pfifo", {"pfifo-limit": "77"}, "pfifo limit 77", id="pfifo"),
    pytest.param("mq-pfifo", {}, "pfifo limit 50", id="mq-pfifo"),
    pytest.param("bfifo", {"bfifo-limit": "64KiB"}, "bfifo limit 65536", id="bfifo"),
    pytest.param("none", {}, "pfifo limit 1", id="none"),
    pytest.param("sfq", {"sfq-perturb": "5", "sfq-allot": "1514"}, "sfq perturb 5 quantum 1514b", id="sfq"),
    pytest.param(
        "red",
        {"red-limit": "60", "red-avg-packet": "1000"},
        "red limit 60000 min 10000 max 50000 avpkt 1000 burst 20 probability 0.1",
        id="red",
    ),
    pytest.param(
        "codel",
        {"codel-limit": "500", "codel-target": "5ms", "codel-interval": "100ms", "codel-ecn": "yes"},
        "codel limit 500 target 5000us interval 100000us ecn",
        id="codel",
    ),
    pytest.param(
        "fq-codel",
        {"fq-codel-flows": "128", "fq-codel-quantum": "300", "fq-codel-ecn": "no"},
        "fq_codel flows 128 quantum 300 noecn",
        id="fq-codel",
    ),
    pytest.param(
        "cake",
        {"cake-flowmode": "dual-srchost", "cake-nat": "yes", "cake-rtt": "50ms", "cake-ack-filter": "filter"},
        "cake unlimited dual-srchost nat ack-filter rtt 50000us",
        id="cake",
    ),
]


def waiting(kind: str, options: dict[str, str]) -> Waiting:
    return waiting_of(Document([QueueType("mine", kind, tuple(options.items()))]), "mine")


@pytest.mark.parametrize(("kind", "options", "text"), TYPES)
def test_a_type_becomes_its_qdisc(kind: str, options: dict[str, str], text: str) -> None:
    leaf = leaf_of(waiting(kind, options), {})
    assert (leaf.text, leaf.reason) == (text, "")
    refusal = tc.probe([leaf.text])[leaf.text]
    assert not refusal or "unknown" in refusal, "tc takes it where the kernel has the kind"


def test_what_a_kernel_lacks_is_replaced_with_a_reason() -> None:
    leaf = leaf_of(waiting("sfq", {}), {"sfq": "unknown"})
    assert (leaf.text, leaf.reason) == ("fq_codel", "this kernel has no sfq: unknown")
    assert leaf_of(waiting("sfq", {}), {"sfq": "unknown", **NO_FQ_CODEL}).text == "pfifo limit 100"
    assert leaf_of(Waiting(), NO_FQ_CODEL).reason == ""
    assert "PCQ" in leaf_of(waiting("pcq", {"pcq-classifier": "src-address"}), {}).reason


def test_texts_of_options_never_reach_tc() -> None:
    """A value that cannot be read is left out, so nothing of it is on a command line."""
    injected = {"cake-flowmode": "flows; rm -rf /", "cake-rtt": "1ms bandwidth 1"}
    assert leaf_of(waiting("cake", injected), {}).text == "cake unlimited"
