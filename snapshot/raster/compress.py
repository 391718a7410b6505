"""Zlib streams at three prices, and the libraries that make them.

`default` is libdeflate's level 6. Where the pixel rows of a cell are whole bytes it is level 3: files are 3 %
larger than at 4 and 6 % larger than at 6, and a page takes a tenth less time than with 4, two fifths less
than with 6. But not on a small page: it is compressed by itself, with little behind it that comes again, and
is soon done. Level 7 takes two fifths longer than 6 for 1 % fewer bytes, and the two above it find hardly
more. `fast` is ISA-L's level 2: two fifths of the compressor's time, for files a fifth larger; its other
levels are as quick and larger, or half as quick. `small` is libdeflate's level 10: 16 % smaller, in twenty to
thirty times the time; the two levels above it take up to three times that for half a per cent.

Every library is deterministic, but their bytes differ, so a profile's bytes are those of its library. Where
that is not installed the next one in the list stands in; a manifest names the one that was at work.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from snapshot.errors import SnapshotError

__all__ = ["PROFILES", "Buffer", "Compressor", "compressor_for"]

Buffer: TypeAlias = bytes | bytearray | memoryview

# Module, function, level and the name for a manifest, in order of preference.
_CHOICES = {
    "default": (("deflate", "zlib_compress", 6, "libdeflate"), ("zlib", "compress", 6, "zlib")),
    "fast": (
        ("isal.isal_zlib", "compress", 2, "isa-l"),
        ("deflate", "zlib_compress", 1, "libdeflate"),
        ("zlib", "compress", 1, "zlib"),
    ),
    "small": (("deflate", "zlib_compress", 10, "libdeflate"), ("zlib", "compress", 9, "zlib")),
}

PROFILES = tuple(_CHOICES)

# Profile and library whose level goes by the page.
_BY_PAGE = ("default", "libdeflate")
# Glyphs that always begin at the same bit repeat as whole bytes, so that a shallow search finds them.
_LEVEL_IN_WHOLE_BYTES = 3
# A page of fewer than ten windows of deflate (RFC 1951: 32 KiB): a tenth of it and more has little behind it.
_SMALL = 10 * (1 << 15)


@dataclass(frozen=True, slots=True)
class Compressor:
    """What makes the zlib streams of a profile.

    Attributes:
        library: the library and its level, "libdeflate 6".
        zlib_stream: makes a zlib stream of bytes, at a level; lets other threads run meanwhile.
        level: that level.
        crc32: CRC-32 of bytes, going on from a value.
    """

    library: str
    zlib_stream: Callable[[Buffer, int], Buffer]
    level: int
    crc32: Callable[[Buffer, int], int]


@cache
def compressor_for(profile: str, *, whole_bytes: bool = False, page_bytes: int = _SMALL) -> Compressor:
    """The compressor of a profile: the best of its libraries that is installed.

    Args:
        profile: one of `PROFILES`.
        whole_bytes: whether the pixel rows of a cell are whole bytes.
        page_bytes: scanlines of a full page, in bytes; by default those of a page that is not small.

    Raises:
        SnapshotError: there is no such profile.
    """
    if profile not in _CHOICES:
        raise SnapshotError(f"unknown compression {profile!r}; known are {', '.join(PROFILES)}")
    for module_name, function_name, level, library in _CHOICES[profile]:
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            continue
        shallow = (profile, library) == _BY_PAGE and whole_bytes and page_bytes >= _SMALL
        chosen = _LEVEL_IN_WHOLE_BYTES if shallow else level
        return Compressor(f"{library} {chosen}", getattr(module, function_name), chosen, module.crc32)
    raise AssertionError("zlib is part of Python")
