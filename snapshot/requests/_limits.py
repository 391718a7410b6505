"""A provider's limits on images and on the size of a request."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from snapshot.parts.media import image_size as size_of
from snapshot.requests._flatten import Piece

__all__ = ["over"]

_MANY = 20  # more images or documents than these, and `max_side_many` holds
_ENOUGH = 1 << 20  # characters of base64 to find the size in: in a JPEG it stands behind profiles


def over(body: dict[str, Any], bits: list[Piece], noun: str, limits: Mapping[str, int]) -> Iterator[str]:
    """One sentence for each limit that the request is over; limits are named as in layout files."""
    images = [bit for bit in bits if bit.kind == "image"]
    many = sum(bit.kind in ("image", "file") for bit in bits) > _MANY
    most = limits.get("images_per_request")
    if most is not None and len(images) > most:
        yield f"there are {len(images)} images, and {most} are allowed"
    side = limits.get("max_side", math.inf)
    if many:
        side = min(side, limits.get("max_side_many", math.inf))
    for bit in images:
        yield from (f"{noun} {bit.at} has an image {what}" for what in _too_large(bit.value, side, limits))
    largest = limits.get("request_bytes")
    if largest is not None:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > largest:
            yield f"the request has {size} bytes, and {largest} are allowed"


def _too_large(value: str, side: float, limits: Mapping[str, int]) -> Iterator[str]:
    try:
        size = size_of(
            base64.b64decode(value[:1_048_576], validate=True)
        )  # JPEG: sizes stand behind profiles
    except (binascii.Error, ValueError):  # a URL: nobody knows before the provider has fetched it
        return
    most = limits.get("image_bytes")
    if most is not None and len(value) > most:
        yield f"of {len(value)} bytes of base64, and {most} are allowed"
    if size is not None:
        width, height = size
        if max(size) > side:
            yield f"of {width}x{height} pixels, and {side:.0f} a side are allowed"
        aspect = limits.get("max_aspect")
        if aspect is not None and max(size) > aspect * min(size):
            yield f"of {width}x{height} pixels, and sides of {aspect}:1 are allowed"
