# SPDX-License-Identifier: Apache-2.0
"""LibreQoS: `ShapedDevices.csv` and `network.json`."""

from weir.formats.libreqos.reader import read

__all__ = ["read"]
