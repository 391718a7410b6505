"""Media types by a file's first bytes, and the size of an image without decoding it."""

from __future__ import annotations

import struct

__all__ = ["PDF", "PNG_SIGNATURE", "SIGNATURES", "image_size", "is_image", "media_type_of"]

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PDF = "application/pdf"

SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (PNG_SIGNATURE, "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", PDF),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"(\xb5/\xfd", "application/zstd"),
    (b"wOF2", "font/woff2"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
)
"""First bytes of a file, and the media type that they stand for. Containers are `_CONTAINERS`."""

# Containers: what stands at the start, what stands at an offset, and the type.
_CONTAINERS: tuple[tuple[bytes, int, bytes, str], ...] = (
    (b"RIFF", 8, b"WEBP", "image/webp"),
    (b"RIFF", 8, b"WAVE", "audio/wav"),
    (b"", 4, b"ftypheic", "image/heic"),
    (b"", 4, b"ftypavif", "image/avif"),
)
# Start-of-frame markers of JPEG, which hold the size; C4, C8 and CC are others.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def media_type_of(data: bytes) -> str:
    """The media type of a file by its first bytes; "" where they say nothing."""
    for magic, kind in SIGNATURES:
        if data.startswith(magic):
            return kind
    for start, offset, magic, kind in _CONTAINERS:
        if data.startswith(start) and data.startswith(magic, offset):
            return kind
    return ""


def is_image(media_type: str) -> bool:
    """Whether a media type is an image's, `image/*` among them."""
    return media_type.startswith("image/")


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, WebP or JPEG; None for anything else, or too few bytes."""
    try:
        match media_type_of(data):
            case "image/png":
                width, height = struct.unpack_from(">II", data, 16)
            case "image/gif":
                width, height = struct.unpack_from("<HH", data, 6)
            case "image/webp":
                width, height = _webp(data)
            case "image/jpeg":
                width, height = _jpeg(data)
            case _:
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
