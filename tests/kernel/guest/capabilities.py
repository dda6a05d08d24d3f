# SPDX-License-Identifier: Apache-2.0
"""Inside the virtual machine: what the agent finds that this kernel can do, as a line of JSON.

python -m tests.kernel.guest.capabilities
"""

from __future__ import annotations

import json

from weir.adapters.datapath_probe import probe
from weir.agent.capabilities import qdisc_refusals


def main() -> None:
    found = {f"qdisc-{kind}": reason for kind, reason in qdisc_refusals().items()}
    found |= {item.id: "" if item.available else item.reason for item in probe()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
