# SPDX-License-Identifier: Apache-2.0
"""QR codes (ISO/IEC 18004) with their quiet zone, which scanners need."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qrcode import QRCode


def svg_of(text: str) -> str:
    """An SVG document of the text, black on white."""
    from qrcode.image.svg import SvgPathFillImage

    return str(_code_of(text).make_image(image_factory=SvgPathFillImage).to_string(encoding="unicode"))


def blocks_of(text: str) -> str:
    """The code in half blocks, for a terminal with light letters on dark."""
    drawn = io.StringIO()
    _code_of(text).print_ascii(out=drawn, invert=True)
    return drawn.getvalue()


def _code_of(text: str) -> QRCode:
    import qrcode

    code = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_M, border=4)
    code.add_data(text)
    code.make(fit=True)
    return code
