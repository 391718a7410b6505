"""Pages that a request can have until a limit of the provider's binds, for each reader.

    python -m benchmarks.capacity        # print the table; `benchmarks.readme --write` puts it into its place

Counted are full pages of the example, drawn: their bytes as they stand in a request, in base64 with the JSON
around them. A compaction keeps a margin from each limit, which is taken off, and has text beside the pages,
which is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import snapshot
from snapshot.compaction.limits import usable
from snapshot.compaction.options import Budget, Options
from snapshot.compaction.pagination import denser
from snapshot.messages import Image, Message
from snapshot.models.catalog import profiles
from snapshot.pages.layout import Layout, layout_for
from snapshot.requests.limits import message_bytes
from snapshot.source.source import source_of

__all__ = ["Capacity", "capacity", "capacity_table"]

EXAMPLE = Path(__file__).resolve().parents[1] / "tests" / "data" / "example.claude-stream.jsonl"
# Models that are also had by routes with narrower limits than the maker's own.
ROUTES = (
    "vertex/claude-opus-4-8", "bedrock/claude-opus-4-8", "copilot/claude-opus-4-8", "azure/gpt-5.6-sol",
    "my-gateway/claude-opus-4-8",
)  # fmt: skip
_CHARS = 200_000  # of text that is drawn, at least; six pages of the densest layout take more
_PAGES = 6
KINDS = ("tokens", "images", "bytes")


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a request has room for, in pages of one layout.

    Attributes:
        who: the reader, or the model's id by another route.
        window: the model's context window in tokens.
        pages: by what binds, one of `KINDS`: pages until it does; absent where it never does.
        chars: characters of source text on a page.
        page_bytes: bytes of a page in a request.
    """

    who: str
    window: int
    pages: dict[str, int]
    chars: int
    page_bytes: int

    @property
    def binds(self) -> str:
        """What binds first."""
        return min(self.pages, key=lambda key: self.pages[key])

    @property
    def most(self) -> int:
        """Pages that a request can have."""
        return self.pages[self.binds]


def capacity(who: str, layout: Layout, text: str) -> Capacity:
    """What a request to a layout's reader has room for, in full pages of `text`, which is repeated."""
    reader, limits = layout.reader, layout.reader.limits
    text *= max(_CHARS, _PAGES * layout.capacity) // len(text) + 1
    drawn = [page for page in snapshot.render(text, layout=layout) if page.stop < len(text)][:_PAGES]
    sent = sum(message_bytes(Message("user", (Image("image/png", page.png),))) for page in drawn) / len(drawn)
    safe = Budget.of(Options(), reader.window, reader.max_output).safe
    pages = {"tokens": safe // layout.tokens}
    if "images_per_request" in limits:
        pages["images"] = usable(limits["images_per_request"])
    if "request_bytes" in limits:
        pages["bytes"] = int(usable(limits["request_bytes"]) / sent)
    return Capacity(who, reader.window, pages, sum(page.chars for page in drawn) // len(drawn), int(sent))


def capacities() -> Iterator[tuple[Capacity, Capacity | None]]:
    """Every reader that pages are made for, and the models by other routes; with its denser layout beside."""
    text = source_of(snapshot.load(EXAMPLE)).text
    for reader in profiles():
        if reader.vision and reader.window:
            layout = layout_for(name=reader.name)
            dense = denser(layout)
            yield (
                capacity(reader.name, layout, text),
                None if dense is None else capacity(reader.name, dense, text),
            )
    for model in ROUTES:
        layout = layout_for(model)
        dense = denser(layout)
        yield (
            capacity(model, layout, text),
            None if dense is None else capacity(model, layout_for(model, name=dense.name), text),
        )


def capacity_table() -> str:
    """The Markdown table: pages until each limit binds, the first of them, and what a request then shows."""
    rows = [
        "| reader | window | by tokens | by images | by bytes | binds | characters | in the dense layout |",
        "|---|--:|--:|--:|--:|---|--:|--:|",
    ]
    for clear, dense in capacities():
        counts = [f"{clear.pages[key]:,}" if key in clear.pages else "–" for key in KINDS]
        beside = f"{dense.most * dense.chars:,} ({dense.binds})" if dense else "–"
        rows.append(
            f"| `{clear.who}` | {clear.window:,} | {' | '.join(counts)} | {clear.binds} "
            f"| {clear.most * clear.chars:,} | {beside} |"
        )
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(capacity_table(), end="")
