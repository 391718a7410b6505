"""Width and height of an image from its first bytes, without decoding it."""

from __future__ import annotations

import struct

__all__ = ["size_of"]

# Start-of-frame markers of JPEG, which hold the size; C4, C8 and CC are others.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, WebP or JPEG; None for anything else, or too few bytes."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack_from(">II", data, 16)
        elif data.startswith(b"GIF8"):
            width, height = struct.unpack_from("<HH", data, 6)
        elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            width, height = _webp(data)
        elif data.startswith(b"\xff\xd8"):
            width, height = _jpeg(data)
        else:
            return None
    except struct.error:
        return None
    return width, height


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        low = struct.unpack_from("<HBHB", data, 24)
        return 1 + low[0] + (low[1] << 16), 1 + low[2] + (low[3] << 16)
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        lead, marker = struct.unpack_from(">BB", data, at)
        if lead == 0xFF and marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        if lead != 0xFF:
            raise struct.error("no marker where one must be")
        if marker == 0xFF or 0xD0 <= marker <= 0xD9:  # padding, or a marker without a length
            at += 1 if marker == 0xFF else 2
        else:
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
