# SPDX-License-Identifier: Apache-2.0
"""The web interface in Chromium: frames while scrolling, main-thread time of the live numbers, opening pages.

For the first two the built interface runs on a router that lives in memory (webui/test/mock), so that every
row moves each second and the browser alone is measured. Pages are opened on a lab of its own.
"""

from __future__ import annotations

import json
import statistics
import sys

from bench.rows import Row
from lab import lifecycle, netns, node, plan

WEBUI = plan.ROOT / "webui"


def run() -> list[Row]:
    found = _printed("measure", node.environment())
    return [
        Row.of(
            "scroll-10k-fps", "scrolling the list of 10,000 queues at 4,000 px/s: frames per second",
            "fps", found["scroll_fps"],
        ),
        Row.of(
            "scroll-kind-10k-fps", "scrolling a list of 10,000 routes at 4,000 px/s: frames per second",
            "fps", found["kind_fps"],
        ),
        Row.of(
            "live-100-ms", "new numbers in 100 visible rows: main-thread time of one update",
            "ms", found["live_ms"],
        ),
    ]  # fmt: skip


def opened() -> list[Row]:
    """Every page of the menu, by a click. The figures are of the page that is slowest in the median; those of
    all pages are told on stderr."""
    lab = lifecycle.Lab(lifecycle.Options())
    try:
        access = lab.start()
        environment = node.environment(
            WEIR_URL=access.url, WEIR_ADMIN_USER=access.username, WEIR_ADMIN_PASSWORD=access.password
        )
        by_page = _printed("usable", environment)
    finally:
        lab.stop()
    for page, spent_ms in by_page.items():
        print(f"{page}: {spent_ms} ms", file=sys.stderr)
    slowest = max(by_page, key=lambda page: statistics.median(by_page[page]))
    what = f"from a click until a page is usable, the slowest of the menu's {len(by_page)}"
    return [Row.of("open-page-ms", what, "ms", by_page[slowest])]


def _printed(script: str, environment: dict[str, str]) -> dict[str, list[float]]:
    printed = netns.run(["npm", "run", "--silent", "--prefix", str(WEBUI), script], environment=environment)
    found: dict[str, list[float]] = json.loads(printed.strip().splitlines()[-1])
    return found
