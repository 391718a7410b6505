"""Numba kernels of clusters and of right-to-left rows; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["find_clusters", "turn_rows"]

# Classes of characters, in the order of `snapshot.typeset.clusters.CLASSES`.
_CONTROL, _EXTEND, _PLAIN_EXTEND, _LINKER, _PLAIN_LINKER, _JOINER = range(1, 7)
_PICTOGRAPH, _REGIONAL = 10, 11
# What a pair of them says, as there.
_GOES_ON, _CONJUNCT, _JOINED, _FLAG = range(1, 5)
# How letters join, and code points, as in `snapshot.typeset.arabic`.
_BEFORE, _AFTER, _LAM, _NON_JOINER = 1, 2, 0x644, 0x200C
# Keys of clusters, as in `snapshot.typeset.cluster_table`.
_LONGEST, _PROBES = 6, 8
# Classes of cells, in the order of `snapshot.typeset.bidi`.
_OTHER, _NEUTRAL, _DIGIT, _SEPARATOR, _UNIT, _RIGHT, _OPEN, _CLOSE, _PART = range(9)


@njit(nogil=True, cache=True)
def find_clusters(  # pragma: no cover - compiled
    codes,
    classes,
    pairs,
    types,
    first_type,
    low,
    high,
    numbers,
    shift,
    continued,
    starts,
    lengths,
    forms,
    found,
):
    """The grapheme clusters of a text that may be units, and their numbers; how many there are.

    `codes` is uint32, the code points of the text. `classes` and `pairs` are those of
    `snapshot.typeset.clusters.GraphemeTables`; `types` is uint8, the joining types of Arabic letters from the
    code point `first_type` on, with one for all others behind them. `low`, `high`, `numbers` and `shift` are
    the slots of `snapshot.typeset.cluster_table.Slots`.

    Writes into `continued` (bool, by character) which characters continue a cluster, and by cluster into
    `starts`, `lengths`, `forms` (int64) and `found` (int32: its number, or -1), as long as `codes`.
    """
    count = 0
    size = codes.size
    before = _CONTROL
    linked = False  # whether a linker stands before, with nothing but what may stand within a conjunct
    picture = 0  # 1 behind a pictograph and what extends it, 2 behind a joiner after these
    flags = 0  # regional indicators one after the other
    start, length, form, type_, last = 0, 0, 0, np.uint8(0), np.uint32(0)
    here, here_length = 0, 0  # the cluster that is read
    for at in range(size + 1):
        goes_on = False
        if at < size:
            code = codes[at]
            kind = np.int64(classes[code]) if code > 127 else _CONTROL if code < 32 else 0
            said = pairs[before * 32 + kind] if at else 0
            if said == _GOES_ON:
                goes_on = True
            elif said == _CONJUNCT:
                goes_on = linked
            elif said == _JOINED:
                goes_on = picture == 2
            elif said == _FLAG:
                goes_on = flags % 2 == 1
            if kind in (_LINKER, _PLAIN_LINKER):
                linked = True
            elif kind not in (_EXTEND, _JOINER):
                linked = False
            if kind == _PICTOGRAPH:
                picture = 1
            elif kind == _JOINER:
                picture = 2 if picture == 1 else 0
            elif kind not in (_EXTEND, _PLAIN_EXTEND, _LINKER) or picture != 1:
                picture = 0
            flags = flags + 1 if kind == _REGIONAL else 0
            before = kind
            continued[at] = goes_on
        if goes_on:
            here_length += 1
            continue
        # The cluster from `here` on has ended: it joins the one before it, or that one is complete.
        first = codes[here] if here_length else np.uint32(0)
        here_type = (
            types[min(first - np.uint32(first_type), np.uint32(types.size - 1))]
            if here_length
            else np.uint8(0)
        )
        joins = length > 0 and type_ & _AFTER and last != _NON_JOINER and here_type & _BEFORE
        is_alef = first == 0x622 or first == 0x623 or first == 0x625 or first == 0x627
        if joins and codes[start] == _LAM and is_alef:
            length += here_length
            form &= _BEFORE
            type_, last = here_type, codes[here + here_length - 1]
        else:
            if joins:
                form |= _AFTER
            if length > 1 or form > 0:
                starts[count], lengths[count], forms[count] = start, length, form
                found[count] = _number(codes, start, length, form, low, high, numbers, shift)
                count += 1
            start, length, form, type_ = here, here_length, _BEFORE if joins else 0, here_type
            last = codes[here + here_length - 1] if here_length else np.uint32(0)
        here, here_length = at, 1
    if length > 1 or form > 0:
        starts[count], lengths[count], forms[count] = start, length, form
        found[count] = _number(codes, start, length, form, low, high, numbers, shift)
        count += 1
    return count


@njit(nogil=True, cache=True)
def _number(codes, start, length, form, low, high, numbers, shift):  # pragma: no cover - compiled
    """The number of a cluster in the slots; -1 where it has none, or is too long for a key."""
    if length > _LONGEST:
        return -1
    one = np.uint64(form & 1) << np.uint64(63)
    other = np.uint64(form >> 1) << np.uint64(63)
    for place in range(length):
        code = np.uint64(codes[start + place])
        if place < 3:
            one |= code << np.uint64(21 * place)
        else:
            other |= code << np.uint64(21 * (place - 3))
    mixed = one * np.uint64(0x9E3779B97F4A7C15) ^ other * np.uint64(0x517CC1B727220A95)
    mixed = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(shift))
    for _ in range(_PROBES):
        if numbers[slot] < 0:
            return -1
        if low[slot] == one and high[slot] == other:
            return numbers[slot]
        slot = (slot + 1) & (low.size - 1)
    return -1


@njit(nogil=True, cache=True)
def turn_rows(classes, order, may_mirror):  # pragma: no cover - compiled
    """Turn rows about, as `snapshot.typeset.bidi.turned` does.

    `classes` is uint8 (rows, columns). Writes into `order` (int64) the column that each cell of the turned
    rows stood in, and into `may_mirror` (bool) which of them are signs that may be mirrored.
    """
    rows, columns = classes.shape
    kinds = np.empty(columns + 1, np.uint8)
    follows = np.zeros(columns + 1, np.bool_)
    grouped = np.zeros(columns + 1, np.bool_)
    kinds[columns] = _OTHER
    for row in range(rows):
        _items(classes[row], kinds, follows, grouped)
        for column in range(columns):
            order[row, column] = column
            may_mirror[row, column] = False
        column = 0
        while column < columns:
            if kinds[column] != _RIGHT:
                column += 1
                continue
            first = last = column
            while kinds[column] != _OTHER:
                if kinds[column] == _RIGHT:
                    last = column
                column += 1
            end = last + 1
            while follows[end]:
                end += 1
            at = first
            while at < end:
                stop = _number_end(kinds, follows, at, end)
                if stop == at:
                    stop = at + 1
                    while stop < end and follows[stop]:
                        stop += 1
                for cell in range(at, stop):
                    place = first + end - stop + cell - at
                    order[row, place] = cell
                    is_sign = kinds[cell] == _NEUTRAL or kinds[cell] == _SEPARATOR
                    lone = not (follows[cell] or grouped[cell] or follows[cell + 1])
                    may_mirror[row, place] = is_sign and lone
                at = stop


@njit(nogil=True, cache=True)
def _items(classes, kinds, follows, grouped):  # pragma: no cover - compiled
    """The classes of the cells of a row, and which are moved with the one before them."""
    columns = classes.size
    last_close = -1
    for column in range(columns):
        if classes[column] == _CLOSE:
            last_close = column
    head = _OTHER
    column = 0
    while column < columns:
        kind = classes[column]
        follows[column] = grouped[column] = False
        if kind == _PART:
            follows[column] = head != _OTHER
            kinds[column] = _NEUTRAL if head != _OTHER else _OTHER
        elif kind == _OPEN and column < last_close:
            kinds[column], grouped[column] = _NEUTRAL, True
            inside = True
            while inside:
                column += 1
                kinds[column], follows[column], grouped[column] = _NEUTRAL, True, False
                inside = classes[column] != _CLOSE
            head = _OTHER
        else:
            head = _OTHER if kind in (_OPEN, _CLOSE) else np.int64(kind)
            kinds[column] = head
        column += 1


@njit(nogil=True, cache=True)
def _signs_end(kinds, follows, at, end):  # pragma: no cover - compiled
    """Where digits with signs of units beside them end that begin at `at`; `at` where there is no digit."""
    stop = at
    has_digit = False
    while stop < end and (kinds[stop] == _DIGIT or kinds[stop] == _UNIT or (follows[stop] and stop > at)):
        has_digit |= kinds[stop] == _DIGIT
        stop += 1
    return stop if has_digit else at


@njit(nogil=True, cache=True)
def _number_end(kinds, follows, at, end):  # pragma: no cover - compiled
    """Where the number that begins at `at` ends; `at` where none begins."""
    stop = _signs_end(kinds, follows, at, end)
    if stop == at:
        return at
    while stop < end and kinds[stop] == _SEPARATOR:
        after = stop + 1
        while after < end and follows[after]:
            after += 1
        more = _signs_end(kinds, follows, after, end)
        if more == after:
            break
        stop = more
    return stop
