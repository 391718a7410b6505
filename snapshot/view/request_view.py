"""The view of a compacted conversation: what stays as text, and the pages in between, as it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from snapshot.compaction.archived import ALSO, CLOSING, OPENING, Archived
from snapshot.compaction.assemble import CONTINUED, archive_messages, is_facts
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.places import is_place
from snapshot.errors import FontError, LayoutError
from snapshot.messages import (
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
)
from snapshot.models.profile import ModelProfile
from snapshot.pages.layout import layout_for
from snapshot.pages.readback import PageReader
from snapshot.pages.render import Typesetter
from snapshot.parts.characters import strict_text
from snapshot.parts.kinds import Sealed, pieces
from snapshot.parts.media import image_size
from snapshot.source.source import Source
from snapshot.typeset.prepared import PreparedText
from snapshot.view.content import (
    Block,
    Figures,
    Kind,
    PageBlock,
    PictureBlock,
    Section,
    Share,
    TextBlock,
    View,
)
from snapshot.view.pages import PageShower, resize_notes, seen_as, usd

__all__ = ["has_pages_of", "view_of_request"]


@dataclass(slots=True, eq=False)
class _Stream:
    """One archived text with its pages, of which the next one is waited for.

    Attributes:
        number: of the stream in the view.
        source: the text.
        pages: half-open span and name of the layout of each page.
        profile: whom they are for.
        at: how many pages were found.
    """

    number: int
    source: Source
    pages: Sequence[tuple[int, int, str]]
    profile: ModelProfile
    at: int = 0
    _text: PreparedText | None = None
    _showers: dict[str, PageShower] = field(default_factory=dict[str, PageShower])

    def block(self, number: int, png: bytes, detail: str) -> PageBlock | None:
        """The block of an image as the next page; with a note where it does not say what the archive holds.
        None where no page is waited for."""
        if self.at >= len(self.pages):
            return None
        start, stop, name = self.pages[self.at]
        try:
            block = self._shower(name, detail).block(number, png)
        except (LayoutError, FontError) as error:
            width, height = image_size(png) or (1, 1)
            seen = seen_as(self.profile, width, height, detail)
            return PageBlock(
                number, png, width, height, seen, 0, (1, 1), width, note=f"does not read: {error}"
            )
        if block.note:
            return block
        self._text = self._text or PreparedText(self.source)
        if block.text != self._text.folded(start, stop):
            return replace(block, note="does not say what the archive holds")
        return block

    def _shower(self, name: str, detail: str) -> PageShower:
        if name not in self._showers:
            layout = layout_for(name=name)
            atlas = Typesetter(layout).atlas(self.source)
            reader = PageReader(layout, atlas)
            self._showers[name] = PageShower(
                atlas, reader, layout.columns, self.profile, detail or None, self.number
            )
        return self._showers[name]


class _Walk:
    """Turns the parts of a conversation into blocks, one after the other, and finds its pages among them."""

    def __init__(self, archive: Archived | None, profile: ModelProfile, estimator: Estimator) -> None:
        self._archive, self._profile, self._estimator = archive, profile, estimator
        self._middle: _Stream | None = None
        self._parts: list[_Stream] = []
        if archive is not None:
            self._middle = _Stream(0, archive.printed, archive.listed, profile)
            self._parts = [
                _Stream(number, part.printed, part.listed, profile)
                for number, part in enumerate(archive.parts, 1)
            ]
        self.pages = 0

    def verbatim(self, role: str, part: Part) -> Iterator[Block]:
        """The blocks of a part of a message that stays as it is, but for pages of its own."""
        tokens = self._estimator.part
        match part:
            case Text(text):
                yield TextBlock(_KINDS[role], role, text, tokens(part))
            case Reasoning(text):
                if text:
                    yield TextBlock("thinking", "thinking", text, tokens(part))
            case ToolCall(_, name, arguments):
                yield TextBlock("call", f"call {name}", arguments, tokens(part))
            case ToolResult(_, content, is_error):
                kind: Kind = "error" if is_error else "result"
                for item in content:
                    if isinstance(item, Text):
                        yield TextBlock(kind, kind, item.text, tokens(item))
                    else:
                        yield from self.verbatim(kind, item)
            case Image():
                yield self._image(part)
            case File(name, media_type, data, text):
                said = text or f"{media_type}, {len(data):,} bytes"
                yield TextBlock("other", f"file {name}", said, tokens(part))
            case Opaque(kind=kind_name):
                said = "".join(
                    f"[{piece.what}, {piece.size:,} bytes]" if isinstance(piece, Sealed) else piece
                    for piece in pieces(part)
                )
                yield TextBlock("other", f"{role} {kind_name}", said, tokens(part))

    def archived(self, part: Part) -> Block:
        """The block of a part that carries the archive."""
        if isinstance(part, Image):
            block = self._middle and self._middle.block(self.pages + 1, part.data, part.detail)
            if block is not None and self._middle is not None:
                self._middle.at += 1
                return self._counted(block)
            return self._picture(part)
        assert isinstance(part, Text)
        kind, title = self._named(part.text)
        return TextBlock(kind, title, part.text, self._estimator.part(part))

    def _named(self, text: str) -> tuple[Kind, str]:
        """What a text beside the pages is."""
        archive = self._archive
        assert archive is not None
        if text.startswith(OPENING):
            return _SUMMARY if archive.summary else _GUIDE
        if text.startswith(ALSO):
            return _MORE
        if text.startswith(CLOSING):
            return "close", "End of the archive"
        if is_facts(archive, text):
            return "facts", "Factsheet: exact strings, as text"
        if _same(text, archive.ledger):
            return "ledger", "State at the cut"
        label = next((item.label for item in archive.statements if _same(text, item.printed())), None)
        return ("left-out", "Left out") if label is None else ("statement", label)

    def _image(self, image: Image) -> Block:
        """A page of a single part, where it is one; any other picture."""
        for stream in self._parts if image.data else ():
            block = stream.block(self.pages + 1, image.data, image.detail)
            if block is not None and not block.note:
                stream.at += 1
                return self._counted(block)
        return self._picture(image)

    def _counted(self, block: PageBlock) -> PageBlock:
        self.pages += 1
        return block

    def _picture(self, image: Image) -> PictureBlock:
        size = image_size(image.data) if image.data else None
        title = f"{image.media_type}, {size[0]:,} × {size[1]:,} px" if size else image.media_type
        if not image.data:
            title = f"{title} at {image.source}"
        return PictureBlock(title, image.media_type, image.data, self._estimator.part(image))


_KINDS: dict[str, Kind] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "result",
    "result": "result",
    "error": "error",
}


def _same(text: str, other: str) -> bool:
    """Whether a text of a request is one of the archive; requests cannot hold lone surrogates."""
    other = strict_text(other)[0]
    return bool(other) and text == other


_GUIDE: tuple[Kind, str] = ("guide", "How to read the pages")
_MORE: tuple[Kind, str] = ("guide", "How to read the pages from here on")
_SUMMARY: tuple[Kind, str] = ("summary", "Summary of earlier messages")

_Place = tuple[int, int]  # number of a message, and of a part in it


@dataclass(frozen=True)
class _Frame:
    """Where the archive stands in a conversation: its first and last part."""

    first: _Place
    last: _Place

    def holds(self, place: _Place) -> bool:
        """Whether a part is one of the archive's."""
        return self.first <= place <= self.last


def _frame(messages: Sequence[Message], archive: Archived | None) -> _Frame | None:
    """Where the archive stands: from the text that opens it to the one that closes it.

    A request may merge its messages with others of the user, so parts are looked at.
    """
    if archive is None or archive.light:
        return None
    wanted = [part for message in archive_messages(archive) for part in message.parts]
    texts = {strict_text(part.text)[0] for part in (wanted[0], wanted[-1]) if isinstance(part, Text)}
    opening: _Place | None = None
    for at, message in enumerate(messages):
        for number, part in enumerate(message.parts if message.role == "user" else ()):
            if not isinstance(part, Text) or part.text not in texts:
                continue
            if part.text.startswith(OPENING):
                opening = at, number  # the last one: an earlier one is somebody's words
            elif opening is not None:
                return _Frame(opening, (at, number))
    return None


def has_pages_of(transcript: Transcript, archive: Archived) -> bool:
    """Whether a conversation shows what stands for the archived messages, and not these themselves."""
    if not archive.light:
        return _frame(transcript.messages, archive) is not None
    sent = [message for item in archive.changed if (message := item.sent) is not None]
    pages = sum(len(part.pages) for part in archive.parts)
    return bool(sent) and _images(transcript.messages) >= max(1, pages)


def _images(messages: Iterable[Message]) -> int:
    inside = (
        item
        for message in messages
        for part in message.parts
        for item in (part.content if isinstance(part, ToolResult) else (part,))
    )
    return sum(isinstance(item, Image) for item in inside)


@dataclass(slots=True)
class _Sum:
    """Tokens of the parts of a request."""

    head: int = 0
    pages: int = 0
    beside: int = 0
    tail: int = 0


def view_of_request(
    transcript: Transcript,
    archive: Archived | None,
    profile: ModelProfile,
    *,
    title: str,
    model: str = "",
    estimator: Estimator | None = None,
    notes: Sequence[str] = (),
) -> View:
    """The view of a conversation as it is sent.

    Args:
        transcript: what is sent, pages and all. It is shown as it is: credentials must be redacted before.
        archive: what its pages stand for; None where it has none.
        profile: the model that will read it.
        title: what to call it.
        model: the model's id.
        estimator: what counts tokens; one for the profile by default.
        notes: what to say of it.
    """
    estimator = estimator or Estimator(profile)
    walk = _Walk(archive, profile, estimator)
    frame = _frame(transcript.messages, archive)
    head: list[Block] = []
    middle: list[Block] = []
    tail: list[Block] = []
    spent = _Sum()
    frame_tokens = estimator.message(Message("user", ()))
    for at, message in enumerate(transcript.messages):
        filler = frame is not None and frame.holds((at, 0)) and _is_filler(message)
        for number, part in enumerate(message.parts):
            own = frame_tokens * (not number)
            if filler:
                spent.beside += own + estimator.part(part)
            elif frame is not None and frame.holds((at, number)):
                block = walk.archived(part)
                middle.append(block)
                if isinstance(block, PageBlock):
                    spent.pages += block.tokens
                    spent.beside += own
                else:
                    spent.beside += own + block.tokens
            else:
                blocks = list(walk.verbatim(message.role, part))
                pages = sum(block.tokens for block in blocks if isinstance(block, PageBlock))
                spent.pages += pages
                rest = own + estimator.part(part) - pages
                if frame is None or (at, number) < frame.first:
                    head += blocks
                    spent.head += rest
                else:
                    tail += blocks
                    spent.tail += rest
    sections = _sections(head, middle, tail, archive, framed=frame is not None)
    view = View(
        title=title,
        model=model,
        reader=profile.title,
        sections=sections,
        figures=_figures(spent, archive, estimator, profile, framed=frame is not None),
    )
    odd = resize_notes(view.pages)
    odd += [f"page {page.number} {page.note}" for page in view.pages if page.note]
    return replace(view, notes=(*notes, *odd))


def _is_filler(message: Message) -> bool:
    return message.role == "assistant" and message.parts == (Text(CONTINUED),)


def _sections(
    head: list[Block], middle: list[Block], tail: list[Block], archive: Archived | None, *, framed: bool
) -> tuple[Section, ...]:
    if not framed or archive is None:
        about = "word for word, but for parts that stand on pages" if archive else "word for word"
        return (Section("conversation", "Conversation", about, tuple(head)),)
    pages = sum(isinstance(block, PageBlock) for block in middle)
    what = "a summary" if archive.summary else f"{pages} page{'s' * (pages != 1)}"
    count = len(archive.messages)
    about = f"{count:,} earlier message{'s' * (count != 1)} as {what}, with what must stay exact as text"
    found = (
        Section("head", "Head", "the start of the conversation, word for word", tuple(head)),
        Section("middle", "Middle", about, tuple(middle)),
        Section("tail", "Tail", "where the work is now, word for word", tuple(tail)),
    )
    return tuple(section for section in found if section.blocks)


def _figures(
    spent: _Sum, archive: Archived | None, estimator: Estimator, profile: ModelProfile, *, framed: bool
) -> Figures:
    """What the request takes, and what the whole conversation would."""
    more = 0  # tokens of what single parts were before
    if archive is not None:
        for item in archive.changed:
            if item.sent is not None:
                more += estimator.message(item.original) - _words(estimator, item.sent)
    overhead = Share("tools and other overhead", "text", estimator.overhead)
    if framed and archive is not None:
        middle = sum(map(estimator.message, archive.messages))
        before = (
            overhead,
            Share("head", "text", spent.head),
            Share("middle", "text", middle),
            Share("tail", "text", spent.tail + more),
        )
        after = (
            overhead,
            Share("head", "text", spent.head),
            Share("pages", "pages", spent.pages),
            Share("beside the pages", "text", spent.beside),
            Share("tail", "text", spent.tail),
        )
    else:
        before = (overhead, Share("conversation", "text", spent.head + more))
        after = (
            overhead,
            Share("conversation", "text", spent.head),
            Share("pages", "pages", spent.pages),
        )
    figures = Figures(
        tuple(share for share in before if share.tokens > 0),
        tuple(share for share in after if share.tokens > 0),
        None,
        None,
        "Text tokens are estimated, pages follow the provider's formula to the token.",
    )
    return replace(
        figures,
        usd_before=usd(profile, figures.tokens_before),
        usd_after=usd(profile, figures.tokens_after),
    )


def _words(estimator: Estimator, sent: Message) -> int:
    """Tokens of a message without the marks that stand for its pages."""

    def without(parts: Iterable[Part]) -> Iterator[Part]:
        for part in parts:
            if isinstance(part, ToolResult):
                yield replace(part, content=tuple(item for item in part.content if not is_place(item)))
            elif not is_place(part):
                yield part

    return estimator.message(replace(sent, parts=tuple(without(sent.parts)), raw=()))
