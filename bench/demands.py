# SPDX-License-Identifier: Apache-2.0
"""What is demanded of the figures. Rows without a demand are there to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Demand:
    """`must` is what a release has to reach, `aim` what we would like; `better` says which way is good."""

    must: float
    aim: float
    better: Better


def least(must: float, aim: float) -> Demand:
    return Demand(must, aim, "higher")


def most(must: float, aim: float) -> Demand:
    return Demand(must, aim, "lower")


def half(must: float) -> Demand:
    """Where no aim was set: half of what is allowed."""
    return most(must, must / 2)


RATE_ERROR = most(0.01, 0.002)
TCP_GOODPUT = least(0.97, 0.99)
POLICED_GOODPUT = least(0.90, 0.97)

RELEASE = {
    "paced-4096x3": least(0.85, 0.97),
    "paced-4096x3-vs-htb": least(2, 3),
    "paced-4096x3-nat-vs-htb": least(1.5, 2),
    "paced-100kx3": least(0.75, 0.90),
    "fast-4096x3": least(2.3, 3.5),
    "fast-100kx3-vs-4096": least(0.80, 0.95),
    "fast-vs-xdp-forward": least(0.75, 1.0),
    "torch-fast": least(0.95, 0.98),
    "overload": least(0.90, 1.0),
    "random-dst-fast": least(0.90, 0.97),
    "random-dst-kernel": least(0.90, 0.97),
    "insn-paced": most(1.15, 1.08),
    "insn-fast": most(0.55, 0.45),
    "lookup-v4-ns": most(30, 10),
    "lookup-v6-ns": most(60, 30),
    "lookup-v4-mb": most(40, 10),
    "kernel-bytes-per-queue": most(512, 256),
    "apply-10k": most(20, 1),
    "apply-one": most(0.1, 0.01),
    "rate-error-police-1": RATE_ERROR,
    "rate-error-police-10": RATE_ERROR,
    "rate-error-police-100": RATE_ERROR,
    "rate-error-police-1000": RATE_ERROR,
    "rate-error-edt-1": RATE_ERROR,
    "rate-error-edt-10": RATE_ERROR,
    "rate-error-edt-50": RATE_ERROR,
    "tcp-goodput-police-10": POLICED_GOODPUT,
    "tcp-goodput-police-50": POLICED_GOODPUT,
    "tcp-goodput-police-2": POLICED_GOODPUT,
    "tcp-goodput-police-2x3": POLICED_GOODPUT,
    "tcp-goodput-police-2x30": POLICED_GOODPUT,
    "tcp-goodput-edt-1": TCP_GOODPUT,
    "tcp-goodput-edt-10": TCP_GOODPUT,
    "tcp-goodput-edt-50": TCP_GOODPUT,
    "import-10k-report": half(3),
    "import-10k-commit": half(3),
    "import-100k-report": half(40),
    "import-100k-commit": half(40),
    "change-one-p50": most(15, 8),
    "change-one-p99": most(60, 25),
    "list-100-p99": half(30),
    "sse-20-core": half(0.10),
    "rss-100k": most(400, 300),
    "rollback-100k-late": most(2, 0.5),
    "diff-50k-first": most(3, 1),
    "diff-50k-page": most(0.3, 0.1),
    "import-100k-peak": most(350, 250),
    "commit-50k-peak": most(350, 250),
    "change-during-50k-p99": most(3, 0.5),
    "set-100k-load": most(6, 3),
    "set-entry-one": most(30, 10),
    "rule-one": most(100, 30),
    "rule-one-2k": most(50, 15),
    "route-one": most(60, 20),
    "bgp-neighbor-one": most(2000, 500),
    "unlimited-worst": most(2, 0.3),
    "damaged-database-loaded": most(0, 0),
    "damaged-copy-loaded": most(0, 0),
    "store-growth": most(2000, 500),
    "unlike-frames": most(0, 0),
}
"""What a release has to reach."""

OURS = {
    "insn-conforming": most(1.35, 1.15),
    "lines-paced-100k": most(6, 4),
    "pages-paced-100k": most(5, 3),
    "policed-4096x3": least(0.85, 0.97),
    "route-50k-load": most(10, 4),
    "lookup-bytes-per-queue": half(1024),
    "live-sort-100k": half(40),
    "scroll-10k-fps": least(58, 59.5),
    "scroll-kind-10k-fps": least(58, 59.5),
    "live-100-ms": most(5, 3),
    "open-page-ms": half(300),
    "soak-api": half(2),
    "soak-agent": half(2),
    **{f"{what}-10k": half(1.5) for what in ("read-routeros", "read-libreqos", "read-csv")},
    **{f"{what}-100k": half(15) for what in ("read-routeros", "read-libreqos", "read-csv")},
    **{f"{what}-routeros-10k": half(1.5) for what in ("reread", "write")},
    **{f"{what}-routeros-100k": half(15) for what in ("reread", "write")},
}
"""What we ask of ourselves beyond that."""

DEMANDS = RELEASE | OURS
