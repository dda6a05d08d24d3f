#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Add what the web interface is made of to a CycloneDX document: web_parts.py package-lock.json DOCUMENT

Buildroot sees the built interface as one part; what npm brought into it are parts that somebody has to look
after like any other.
"""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]
INTERFACE = "weir-webui"


def parts(lock: Json) -> list[Json]:
    """The packages of a lock file that are handed on; what only builds and tests is left out."""
    return [
        part(place.rpartition("node_modules/")[2], package)
        for place, package in lock["packages"].items()
        if place and not package.get("dev") and not package.get("devOptional")
    ]


def part(name: str, package: Json) -> Json:
    version = package["version"]
    address = f"pkg:npm/{quote(name)}@{version}"
    return {
        "bom-ref": address,
        "type": "library",
        "name": name,
        "version": version,
        "purl": address,
        "licenses": [{"expression": package["license"]}],
    }


def add(document: Json, found: list[Json]) -> None:
    """Raises KeyError when the document has no web interface."""
    entry = {item["ref"]: item for item in document["dependencies"]}[INTERFACE]
    entry["dependsOn"] += [item["bom-ref"] for item in found]
    document["dependencies"] += [{"ref": item["bom-ref"], "dependsOn": []} for item in found]
    document["components"] += found


def main() -> None:
    lock, path = Path(sys.argv[1]), Path(sys.argv[2])
    document = json.loads(path.read_text(encoding="utf-8"))
    add(document, parts(json.loads(lock.read_text(encoding="utf-8"))))
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
