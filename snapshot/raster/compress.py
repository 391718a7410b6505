"""Zlib streams at three prices, and the libraries that make them.

`default` is libdeflate: level 4 where a cell's pixel rows are whole bytes (files are 3 to 4 % larger than at
6, in 60 % of the time), and 5 in other cells (1 % larger, in three quarters of the time). `fast` is ISA-L's
level 2: a third of the time of that, for files 15 to 23 % larger. `small` is libdeflate's level 10: 6 to 9 %
smaller than at 6, in ten to twenty times the time; the two levels above it take up to three times that for
half a per cent.

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
    "default": (("deflate", "zlib_compress", 5, "libdeflate"), ("zlib", "compress", 6, "zlib")),
    "fast": (
        ("isal.isal_zlib", "compress", 2, "isa-l"),
        ("deflate", "zlib_compress", 1, "libdeflate"),
        ("zlib", "compress", 1, "zlib"),
    ),
    "small": (("deflate", "zlib_compress", 10, "libdeflate"), ("zlib", "compress", 9, "zlib")),
}

PROFILES = tuple(_CHOICES)

# Glyphs that always begin at the same bit repeat as whole bytes, so that a shallow search finds them.
_IN_WHOLE_BYTES = {("default", "libdeflate"): 4}


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
def compressor_for(profile: str, *, whole_bytes: bool = False) -> Compressor:
    """The compressor of a profile: the best of its libraries that is installed.

    Args:
        profile: one of `PROFILES`.
        whole_bytes: whether the pixel rows of a cell are whole bytes.

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
        shallow = _IN_WHOLE_BYTES.get((profile, library)) if whole_bytes else None
        chosen = level if shallow is None else shallow
        return Compressor(f"{library} {chosen}", getattr(module, function_name), chosen, module.crc32)
    raise AssertionError("zlib is part of Python")
