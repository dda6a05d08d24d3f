# SPDX-License-Identifier: Apache-2.0
"""RouterOS: read `/export`, and write a configuration as an export that RouterOS reads."""

from weir.formats.routeros.reader import read
from weir.formats.routeros.writing import write, written

__all__ = ["read", "write", "written"]
