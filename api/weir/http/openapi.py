# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.http.openapi [FILE]` writes the OpenAPI document, docs/api/openapi.json by default."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from weir.http.app import describe

DEFAULT_PATH = Path(__file__).resolve().parents[3] / "docs" / "api" / "openapi.json"


def text() -> str:
    """The OpenAPI document, without opening a database."""
    return json.dumps(json.loads(describe()), indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> None:
    path = Path(arguments[0]) if arguments else DEFAULT_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
