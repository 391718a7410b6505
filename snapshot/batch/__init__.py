"""Many transcripts at once: a function a row for any engine, and `snapshot batch` over Daft.

Each function takes one transcript (its bytes, its path, or its messages) and gives a list of rows, which are
plain dictionaries of the columns that `schema_of` names. None raises: what cannot be read is a row with
`error_kind` and `error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot._lazy import lazy_names

if TYPE_CHECKING:
    from snapshot.batch.prices import PriceTable, litellm_prices, read_prices
    from snapshot.batch.rows import (
        Row,
        compact_of,
        convert_of,
        costs_of,
        inspect_of,
        pages_of,
        replay_of,
    )
    from snapshot.batch.schemas import COLUMNS, Column, daft_type, schema_of

_HOMES = {
    "COLUMNS": "schemas",
    "Column": "schemas",
    "PriceTable": "prices",
    "Row": "rows",
    "compact_of": "rows",
    "convert_of": "rows",
    "costs_of": "rows",
    "daft_type": "schemas",
    "inspect_of": "rows",
    "litellm_prices": "prices",
    "pages_of": "rows",
    "read_prices": "prices",
    "replay_of": "rows",
    "schema_of": "schemas",
}

__all__ = [
    "COLUMNS",
    "Column",
    "PriceTable",
    "Row",
    "compact_of",
    "convert_of",
    "costs_of",
    "daft_type",
    "inspect_of",
    "litellm_prices",
    "pages_of",
    "read_prices",
    "replay_of",
    "schema_of",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
