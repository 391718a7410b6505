"""Whether the compiled kernels of clusters are at hand, which `snapshot.pages.numba_support` says.

Segmentation has no caller that knows of kernels: a text is segmented once, whoever asks first. So it takes
the kernel where this process has loaded it, and NumPy else; both find the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snapshot.source.codepoints import code_points
from snapshot.typeset.arabic import FIRST_TYPE, TYPES, Clusters
from snapshot.typeset.bidi import turn_with
from snapshot.typeset.cluster_table import ClusterTable
from snapshot.typeset.clusters import grapheme_tables
from snapshot.typeset.shaped import Segmentation, segment_with

__all__ = ["load", "segmented", "turned"]


def load() -> None:
    """Load the kernels, and use them from now on.

    Raises:
        ImportError: numba is not installed.
        RuntimeError, OSError: it has no place for its cache.
    """
    segmented(code_points("e\u0301"), ClusterTable())
    turned(np.zeros((1, 1), np.uint8))
    segment_with(segmented)
    turn_with(turned)


def segmented(codes: NDArray[np.uint32], table: ClusterTable) -> Segmentation:
    """The grapheme clusters of a text; -1 is the number of those that the table has no slot for."""
    from snapshot.typeset.cluster_kernels import find_clusters

    tables, slots = grapheme_tables(), table.slots
    continued = np.empty(codes.size, np.bool_)
    starts, lengths, forms = np.empty((3, codes.size), np.int64)
    numbers = np.empty(codes.size, np.int32)
    count = find_clusters(
        codes,
        tables.classes,
        tables.pairs,
        TYPES,
        FIRST_TYPE,
        *slots,
        continued,
        starts,
        lengths,
        forms,
        numbers,
    )
    clusters = Clusters(starts[:count].copy(), lengths[:count].copy(), forms[:count].copy())
    return Segmentation(continued if continued.any() else None, clusters, numbers[:count].copy(), table.units)


def turned(classes: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """What `snapshot.typeset.bidi.turned` gives."""
    from snapshot.typeset.cluster_kernels import turn_rows

    order, may_mirror = np.empty(classes.shape, np.int64), np.empty(classes.shape, np.bool_)
    turn_rows(classes, order, may_mirror)
    return order, may_mirror
