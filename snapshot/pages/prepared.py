"""Sources that were set lately, with the work that serves again: folds, clusters, glyphs, page breaks.

A source is set many times: measured in one layout and another, in parts, and at last drawn. Its work is
found here by what the source says, so that two equal sources share it too. Few are kept, and of long ones
only those that a `Typesetter` still has at hand.
"""

from __future__ import annotations

import threading
from weakref import WeakSet

from snapshot.raster.atlas import Atlas, atlas_for
from snapshot.raster.face import Face
from snapshot.source.codepoints import census
from snapshot.source.source import Source
from snapshot.typeset.clusters import may_join
from snapshot.typeset.missing_glyphs import missing_glyphs
from snapshot.typeset.prepared import PreparedText
from snapshot.typeset.shaped import may_be_unit

__all__ = ["PreparedSource", "may_have_clusters", "prepare"]

# Sources that are kept, and their characters all together.
_MOST_SOURCES = 4
_MOST_CHARS = 1 << 22


class PreparedSource:
    """A source with its folds and clusters, its glyphs in each face, and its page breaks in each geometry.

    Attributes:
        text: the source text, folded and segmented as far as it was asked for.
        breaks: by geometry and start, the ends of the full pages that follow each other from there.
    """

    def __init__(self, source: Source) -> None:
        self.text = PreparedText(source)
        self.breaks: dict[tuple[object, int], list[int]] = {}
        self._atlases: dict[Face, Atlas] = {}

    def atlas(self, face: Face) -> Atlas:
        """The glyphs that the source needs in a face."""
        atlas = self._atlases.get(face)
        if atlas is None:
            atlas = self._atlases[face] = atlas_for(face, missing_glyphs(self.text, atlas_for(face)))
        return atlas


_lock = threading.Lock()
_lately: list[PreparedSource] = []  # the newest last
_alive: WeakSet[PreparedSource] = WeakSet()


def prepare(source: Source) -> PreparedSource:
    """What is known of a source, or of an equal one that was set lately."""
    with _lock:
        # They are compared one by one: a long text takes longer to hash than to be told from others.
        known = (one for one in (*reversed(_lately), *_alive) if _says(one.text.source, source))
        found = next(known, None)
        if found is None:
            found = PreparedSource(source)
            _alive.add(found)
        _lately[:] = [*(one for one in _lately if one is not found), found]
        chars = sum(len(one.text.source.text) for one in _lately)
        while _lately and (len(_lately) > _MOST_SOURCES or chars > _MOST_CHARS):
            chars -= len(_lately.pop(0).text.source.text)
        return found


def may_have_clusters(text: str) -> bool:
    """Whether characters of a text may be drawn together, as units that a font has glyphs for."""
    codes, _ = census(text)
    return bool((may_join(codes) | may_be_unit(codes)).any())


def _says(one: Source, other: Source) -> bool:
    return one is other or (one.text == other.text and one.marks == other.marks)
