# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.http.forms` writes what the web interface knows of the kinds: webui/src/kinds/kinds.json.

Per kind the defaults of its fields, and the help of those that are declared: what OpenAPI types cannot tell a
program in the browser.
"""

from __future__ import annotations

import json
from pathlib import Path

from weir.kinds import DECLARED, KINDS
from weir.model.codec import defaults_of

PATH = Path(__file__).resolve().parents[3] / "webui" / "src" / "kinds" / "kinds.json"


def text() -> str:
    """The file's text, the same for the same declarations."""
    found = {kind: {"defaults": dict(defaults_of(kind)), "help": _help(kind)} for kind in KINDS}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _help(kind: str) -> dict[str, str]:
    declared = DECLARED.get(kind)
    return {} if declared is None else {member.name: member.field.help for member in declared.members}


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
