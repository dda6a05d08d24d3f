# SPDX-License-Identifier: Apache-2.0
"""What the API has imported when it first answers: it counts at every start of a router (docs/image.md)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LATER = {"numpy", "weir.stats.queues", "weir.formats.csv", "weir.formats.routeros", "weir.formats.libreqos"}
"""For figures, when the agent answers, and for imports, when a file comes."""
OF_THE_AGENT = {"weir.parts.registry", "weir.parts.routes", "weir.parts.routing", "weir.compiler"}
"""The API shows what the firewall decides and needs no other part."""
START = """
import sys
from pathlib import Path
import weir.http.main, weir.http.serving.worker
from weir.http.app import create_app
from weir.http.settings import Settings

folder = Path(sys.argv[1])
app = create_app(Settings(folder / "weir.db", folder / "agent.sock", statistics_database=folder / "day.db"))
answer = app.test_client().get("/api/v1/system/live")
parts = app.extensions["weir"]
parts.stats.stop()
parts.service.close()
print(answer.status_code, *sys.modules)
"""


def test_what_is_not_needed_for_the_first_answer_is_imported_later(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, str(tmp_path)], capture_output=True, text=True, check=False
    )
    status, *modules = done.stdout.split()
    assert status == "200", done.stderr
    assert "flask" in modules
    assert not (LATER | OF_THE_AGENT) & set(modules)
