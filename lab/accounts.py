# SPDX-License-Identifier: Apache-2.0
"""Make the database and its first accounts, as the API's user: prints one-time password and token as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from weir.service import Service


def main() -> None:
    service = Service.open(Path(sys.argv[1]), Path("/nonexistent"))
    try:
        password = service.auth.bootstrap()
        token = service.auth.issue_local_token("lab", "admin")
    finally:
        service.close()
    json.dump({"password": password, "token": token}, sys.stdout)


if __name__ == "__main__":
    main()
