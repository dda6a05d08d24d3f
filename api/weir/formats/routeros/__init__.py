# SPDX-License-Identifier: Apache-2.0
"""RouterOS: read `/export`, and write queues as an export that RouterOS reads."""

from weir.formats.routeros.reader import read
from weir.formats.routeros.writer import write, written

__all__ = ["read", "write", "written"]
