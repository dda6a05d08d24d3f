# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.http.openapi [FILE]` writes the OpenAPI document, docs/api/openapi.json by default."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from flask import Flask

from weir.http.app import create_api

DEFAULT_PATH = Path(__file__).resolve().parents[3] / "docs" / "api" / "openapi.json"


def document() -> dict[str, Any]:
    """The OpenAPI document, without opening a database."""
    api, _ = create_api(Flask("weir", static_folder=None))
    return dict(api.spec.to_dict())


def text() -> str:
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> None:
    path = Path(arguments[0]) if arguments else DEFAULT_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
