"""A greyscale PNG around packed scanlines (PNG specification, third edition, sections 5 and 11)."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from snapshot.parts.media import PNG_SIGNATURE
from snapshot.raster.compress import Buffer, Compressor, compressor_for

__all__ = ["encode_png"]


def encode_png(
    scanlines: NDArray[np.uint8], width: int, depth: int, compressor: Compressor | None = None
) -> bytes:
    """The PNG file of `scanlines`.

    Args:
        scanlines: uint8, shape (height, 1 + bytes of a row), each row led by its filter byte, C-contiguous.
        width: width of the image in pixels.
        depth: bits per pixel, 1, 2, 4 or 8.
        compressor: by default that of the profile "default".
    """
    compressor = compressor or compressor_for("default")
    header = struct.pack(">IIBBBBB", width, scanlines.shape[0], depth, 0, 0, 0, 0)
    data = compressor.zlib_stream(scanlines.data, compressor.level)
    chunks = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    return b"".join(
        (PNG_SIGNATURE, *(part for kind, body in chunks for part in _chunk(kind, body, compressor)))
    )


def _chunk(kind: bytes, body: Buffer, compressor: Compressor) -> tuple[Buffer, ...]:
    checksum = compressor.crc32(body, compressor.crc32(kind, 0))
    return struct.pack(">I", len(body)), kind, body, struct.pack(">I", checksum)
