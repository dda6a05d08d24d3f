# SPDX-License-Identifier: Apache-2.0
"""QR codes (ISO/IEC 18004) as pictures."""

from __future__ import annotations


def svg_of(text: str) -> str:
    """An SVG document of the text, black on white with its quiet zone, as scanners want it."""
    import qrcode
    from qrcode.image.svg import SvgPathFillImage

    code = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_M, border=4)
    code.add_data(text)
    code.make(fit=True)
    return str(code.make_image(image_factory=SvgPathFillImage).to_string(encoding="unicode"))
