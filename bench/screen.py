# SPDX-License-Identifier: Apache-2.0
"""The web interface in Chromium: frames while scrolling, main-thread time of the live numbers.

The built interface runs on a router that lives in memory (webui/test/mock), so that every row moves each
second and the browser alone is measured.
"""

from __future__ import annotations

import json

from bench.rows import Row
from lab import netns, node, plan


def run() -> list[Row]:
    webui = plan.ROOT / "webui"
    printed = netns.run(
        ["npm", "run", "--silent", "--prefix", str(webui), "measure"], environment=node.environment()
    )
    found = json.loads(printed.strip().splitlines()[-1])
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
