"""Documents: how many pages a PDF has, and the line that stands in place of one.

The pages are counted in the file's own objects, without a PDF library: `/Count` of the page tree's root, or
the page objects themselves, in the open and in compressed object streams. Nothing is decoded but these
streams, and of them only so much.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from snapshot.messages import File
from snapshot.parts.media import PDF, media_type_of

__all__ = ["DocumentSize", "document_line", "document_type", "pages_of", "pdf_pages"]

# What of a file is looked at: streams of objects are small, beside images and fonts.
_STREAMS = 4096
_UNPACKED = 1 << 24  # bytes, of all streams together
# A page of text has 2 to 5 kB when compressed, a scanned one 50 to 200: in between, for what says nothing.
_BYTES_A_PAGE = 30_000

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z0-9])")
_TREE = re.compile(rb"/Type\s*/Pages(?![A-Za-z0-9])")
_COUNT = re.compile(rb"/Count\s+(\d{1,9})(?![\d.])")
_OBJECT_STREAM = re.compile(rb"/Type\s*/ObjStm(?![A-Za-z0-9])")
_STREAM = re.compile(rb"stream\r?\n")
_BRACKET = re.compile(rb"<<|>>")
_LONGEST_NAME = 200  # characters of a title
_NODE = 1 << 16  # bytes of a node of the page tree: its list of children is the longest thing in it

_REMEMBERED = 1024
_counted: dict[tuple[int, int], int] = {}  # pages by length and hash: an estimate is made many times

DocumentSize = tuple[int, bool]
"""Pages, and whether they were counted; if not, they are an estimate by the bytes."""


def document_type(file: File) -> str:
    """The media type of a document, by its bytes where they say it."""
    return media_type_of(file.data) or file.media_type


def pages_of(file: File) -> DocumentSize | None:
    """The pages of a PDF that the message holds; None for other files, and for what is elsewhere."""
    if not file.data or file.text or document_type(file) != PDF:
        return None
    counted = pdf_pages(file.data)
    return (counted, True) if counted else (max(1, len(file.data) // _BYTES_A_PAGE), False)


def pdf_pages(data: bytes) -> int:
    """The number of pages of a PDF; 0 where it cannot be told (encrypted objects, damage)."""
    key = len(data), hash(data)
    if key not in _counted:
        if len(_counted) >= _REMEMBERED:
            _counted.clear()
        _counted[key] = _count(data)
    return _counted[key]


def _count(data: bytes) -> int:
    bodies = [data[start:stop] for start, stop in _outside_streams(data)]
    bodies += _object_streams(data)
    tree = max((count for body in bodies for count in _tree_counts(body)), default=0)
    pages = sum(len(_PAGE.findall(body)) for body in bodies)
    # Saved again and again, a file holds old page objects as well; the tree counts the ones in use.
    return tree if tree and (not pages or tree <= pages) else pages


def _tree_counts(body: bytes) -> Iterator[int]:
    """`/Count` of the nodes of the page tree: its root has the largest."""
    for node in _TREE.finditer(body):
        start, stop = _dictionary(body, node.start())
        count = _COUNT.search(body, start, stop)
        if count is not None:
            yield int(count[1])


def _dictionary(body: bytes, at: int) -> tuple[int, int]:
    """Half-open span of the dictionary around `at`, looked for within `_NODE` bytes before and behind."""
    low, high = max(0, at - _NODE), min(len(body), at + _NODE)
    start, depth = low, 0
    for bracket in reversed(list(_BRACKET.finditer(body, low, at))):
        depth += 1 if bracket[0] == b">>" else -1
        if depth < 0:
            start = bracket.start()
            break
    depth = 0
    for bracket in _BRACKET.finditer(body, at, high):
        depth += 1 if bracket[0] == b"<<" else -1
        if depth < 0:
            return start, bracket.end()
    return start, high


def _outside_streams(data: bytes) -> list[tuple[int, int]]:
    """Half-open spans of the file between the contents of its streams."""
    spans: list[tuple[int, int]] = []
    at = 0
    while (found := _STREAM.search(data, at)) is not None:
        spans.append((at, found.start()))
        end = data.find(b"endstream", found.end())
        if end < 0:
            return spans
        at = end + len(b"endstream")
    return [*spans, (at, len(data))]


def _object_streams(data: bytes) -> list[bytes]:
    """The contents of compressed object streams, as far as they are readable."""
    found: list[bytes] = []
    left = _UNPACKED
    for match in _OBJECT_STREAM.finditer(data):
        if len(found) >= _STREAMS or left <= 0:
            break
        opened = _STREAM.search(data, match.end(), match.end() + 4096)
        if opened is None:
            continue
        stop = data.find(b"endstream", opened.end())
        packed = data[opened.end() : len(data) if stop < 0 else stop]
        try:
            text = zlib.decompressobj().decompress(packed, left)
        except zlib.error:
            continue
        left -= len(text)
        found.append(text)
    return found


def document_line(file: File, tool: str = "", why: str = "") -> str:
    """What stands in place of a document: title, type, pages and bytes; the tool that it came from, and why
    it went."""
    facts = [" ".join(file.name.split())[:_LONGEST_NAME], document_type(file)]
    size = pages_of(file)
    if size is not None:
        pages, counted = size
        facts.append(f"{'' if counted else 'about '}{pages} page{'' if pages == 1 else 's'}")
    if file.data or file.text:
        count = len(file.data) or len(file.text.encode("utf-8", "surrogatepass"))
        facts.append(f"{count} bytes")
    else:
        facts.append(file.source)
    behind = "".join(f"; {words}" for words in (f"from {tool}" if tool else "", why) if words)
    return f"[document dropped: {', '.join(filter(None, facts))}{behind}]"
