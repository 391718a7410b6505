"""The body of a request: the caller's own where nothing changed, else written, and marked for the cache."""

from __future__ import annotations

from typing import Any

from snapshot.compaction.archive import Archive
from snapshot.compaction.assemble import archive_messages
from snapshot.compaction.splice import Given
from snapshot.messages import Text, Transcript
from snapshot.models.profile import ModelProfile
from snapshot.requests.cache_marks import CacheMark, marks_in, marks_of

__all__ = ["body_of", "cache_mark_for"]

# Marks that a caller may have set beside the messages, on tools and system text, where no body shows them.
_UNSEEN = 2
_HOUR = "1h"


def body_of(
    given: Given | None,
    sent: Transcript,
    api: str,
    *,
    reader: ModelProfile | None,
    mark: CacheMark | None,
) -> dict[str, Any]:
    """The body of a request for `api`: see `Compaction.request`."""
    from snapshot.requests import LISTED, OTHER_NAMES, request

    api = OTHER_NAMES.get(api, api)
    own = None if given is None else _own_body(given, sent, api, reader)
    if own is not None:
        return own
    body = request(sent, api, reader=reader)
    if mark is not None and api == "anthropic":
        mark.on(body[LISTED[api]])
    return body


def cache_mark_for(
    given: Given | None, sent: Transcript, archive: Archive | None, reader: ModelProfile
) -> CacheMark | None:
    """The mark for the last page that the next compaction will leave as it is, if there is room for one.

    The newest page is set anew when the conversation grows, all before it stay.
    """
    if archive is None or len(archive.pages) < 2 or reader.cache is None or archive.former_schema:
        return None
    body = given.body if given is not None else None
    beside = _UNSEEN if body is None else len(marks_in(body))
    # The system text of a body is a message here, and its marks have been counted.
    lifetimes = marks_of(sent.messages[given.beside if given is not None and body is not None else 0 :])
    if beside + len(lifetimes) >= reader.cache.breakpoints:
        return None
    lead = archive_messages(archive)[0].parts[0]
    assert isinstance(lead, Text)
    # What stays an hour may not stand behind what stays five minutes.
    lifetime = _HOUR if _HOUR in lifetimes else ""
    return CacheMark(lead.text, len(archive.pages) - 2, lifetime)


def _own_body(given: Given, sent: Transcript, api: str, reader: ModelProfile | None) -> dict[str, Any] | None:
    """The caller's own messages as a body has them, if nothing changed, and the API and model take them."""
    from snapshot.requests import LISTED, api_of

    if sent.messages is not given.transcript.messages or isinstance(given.value, Transcript):
        return None
    if api_of(sent.format) != api and not _in_words(given, api):
        return None
    body = {LISTED[api]: given.plain_list(), **given.plain_beside()}
    within = api == "anthropic" and reader is not None and not reader.midway_system
    if within and any(message.role == "system" for message in sent.messages[given.beside :]):
        return None
    return body if _is_accepted(given, api, body) else None


def _is_accepted(given: Given, api: str, body: dict[str, Any]) -> bool:
    """Whether the API accepts the caller's own body: by what is new in a list that is as it was when it was
    read."""
    from snapshot.requests import LISTED
    from snapshot.requests.accepted import Accepted
    from snapshot.requests.check import check
    from snapshot.transcripts.continued import notes_on

    messages, beside = body[LISTED[api]], {key: body[key] for key in body if key != LISTED[api]}
    with notes_on(given.transcript, given.items) as notes:
        if notes is None or len(messages) != given.count:
            return not check(body, api)
        known = notes.get(api)
        if not isinstance(known, Accepted):
            known = notes[api] = Accepted(api)
        return known.accepts(messages, beside)


def _in_words(given: Given, api: str) -> bool:
    """Whether the list is of words alone, which two of the APIs have in the same form."""
    if api not in ("anthropic", "openai"):
        return False
    return all(
        isinstance(item, dict) and item.keys() == {"role", "content"} and isinstance(item["content"], str)
        for item in given.plain_list()
    )
