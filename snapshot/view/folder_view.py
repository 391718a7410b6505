"""The view of a folder of pages."""

from __future__ import annotations

from pathlib import Path

from snapshot._files import read_regular
from snapshot.models.ids import profile_for
from snapshot.models.profile import ModelProfile
from snapshot.models.tokens import text_tokens
from snapshot.pages.folder import OpenFolder, open_folder, read_source
from snapshot.pages.manifest import Manifest, PageEntry, load_manifest
from snapshot.view.content import Block, Figures, PageBlock, Section, Share, TextBlock, View
from snapshot.view.pages import PageShower, resize_notes, seen_as, usd

__all__ = ["view_of_folder"]

_MOST_BYTES = 1 << 26  # of a PNG


def view_of_folder(folder: Path, *, model: str | None = None, font: str | Path | None = None) -> View:
    """The view of a folder that `snapshot.pages.folder.write` wrote.

    Args:
        folder: where it is.
        model: id of the model that will look at the pages; by default the one they were rendered for.
        font: the user's font file that the pages were set with.

    Raises:
        PageError: there is no manifest, it is damaged, or a font file has to be named.
        LayoutError: the model is not known.
        FontError: the face of the pages is not installed.
    """
    manifest = load_manifest(folder)
    opened = open_folder(folder, manifest, font=font)
    model = model or manifest.model or ""
    profile = profile_for(model) if model else opened.layout.reader
    detail = manifest.layout.detail
    shower = PageShower(opened.atlas, opened.reader, manifest.layout.columns, profile, detail)
    pages = [_page(opened, shower, entry, at) for at, entry in enumerate(manifest.pages, 1)]
    guide = TextBlock("guide", "How to read the pages", manifest.guide, text_tokens(manifest.guide, profile))
    blocks: list[Block] = [guide, *pages]
    chars = f"{manifest.source.chars:,} characters"
    about = f"{chars} on {len(pages)} page{'s' * (len(pages) != 1)}, each read back from its pixels"
    return View(
        title=folder.resolve().name,
        model=model,
        reader=profile.title,
        sections=(Section("pages", "Pages", about, tuple(blocks)),),
        figures=_figures(_text_tokens(opened, manifest, profile), profile, pages),
        notes=tuple(_notes(manifest, pages)),
    )


def _page(opened: OpenFolder, shower: PageShower, entry: PageEntry, number: int) -> PageBlock:
    """The block of a page; one that is missing has no image."""
    try:
        png = read_regular(opened.folder / entry.file, most=_MOST_BYTES)
    except (OSError, ValueError) as error:
        note = f"{entry.file}: {getattr(error, 'strerror', None) or error}; render the pages again"
        seen = seen_as(shower.profile, entry.width, entry.height, shower.detail)
        cell = opened.layout.cell
        return PageBlock(
            number, b"", entry.width, entry.height, seen, entry.tokens, cell, shower.columns, note=note
        )
    return shower.block(number, png, most=opened.most)


def _text_tokens(opened: OpenFolder, manifest: Manifest, profile: ModelProfile) -> int:
    """Estimated tokens of the source as text, for another model than that of the pages counted anew."""
    if profile.rates == opened.layout.reader.rates and profile.name == opened.layout.reader.name:
        return manifest.totals.text_tokens
    return text_tokens(read_source(opened.folder, manifest).text, profile)


def _figures(before: int, profile: ModelProfile, pages: list[PageBlock]) -> Figures:
    after = sum(page.tokens for page in pages)
    return Figures(
        before=(Share("as text", "text", before),),
        after=(Share("pages", "pages", after),),
        usd_before=usd(profile, before),
        usd_after=usd(profile, after),
        basis="Text tokens are estimated, pages follow the provider's formula to the token.",
        names=("as text", "as pages"),
    )


def _notes(manifest: Manifest, pages: list[PageBlock]) -> list[str]:
    """What pages do not show as it was."""
    notes = [*resize_notes(pages), *(f"page {page.number} {page.note}" for page in pages if page.note)]
    if manifest.source.folded:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in manifest.source.folded.items())
        notes.append(f"characters that no page shows: {kinds}")
    if manifest.source.code_points:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in manifest.source.code_points.items())
        notes.append(f"characters printed as code points, for want of a glyph: {kinds}")
    return notes
