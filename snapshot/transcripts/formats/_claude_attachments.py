"""What Claude Code attaches beside the talk and the model reads: files named with @, folders, edits.

They stand in rows of type "attachment", in the harness's words. Its listings (of agents, tools, skills) are
made anew for every session: they are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from snapshot.transcripts.formats._claude_code import Row
from snapshot.transcripts.io.harness import Rules
from snapshot.transcripts.io.json_values import JsonObject, as_list, as_object, as_text, compact
from snapshot.transcripts.reading.speakers import asked
from snapshot.transcripts.reading.times import known_time

__all__ = ["attached", "local_command"]


def attached(where: str, row: JsonObject) -> Row | None:
    """The note that an attachment is to the model; None for attachments that it need not see again."""
    if row.get("type") != "attachment":
        return None
    attachment = as_object(row.get("attachment")) or {}
    made = _WORDS.get(as_text(attachment.get("type")))
    content = made(attachment) if made is not None else None
    if not content:
        return None
    return Row(
        where,
        "note",
        as_text(row.get("uuid")),
        as_text(row.get("parentUuid")),
        known_time(row.get("timestamp")),
        {"role": "user", "content": content},
    )


def local_command(where: str, row: JsonObject, rules: Rules) -> Row | None:
    """What a command of the harness's own printed, in a row of type "system": it goes out as the user's."""
    content = row.get("content")
    if (row.get("type"), row.get("subtype")) != ("system", "local_command"):
        return None
    if not isinstance(content, str) or not content.strip():
        return None
    return Row(
        where,
        "user",
        as_text(row.get("uuid")),
        as_text(row.get("parentUuid")),
        known_time(row.get("timestamp")),
        {"role": "user", "content": content},
        asked(content, rules),
    )


def _note(text: str) -> JsonObject:
    return {"type": "text", "text": f"<system-reminder>\n{text}\n</system-reminder>"}


def _read(path: str, text: str) -> str:
    """A file as the tool Read would have shown it."""
    asked = compact({"file_path": path})
    return f"Called the Read tool with the following input: {asked}\nResult of calling the Read tool:\n{text}"


def _file(attachment: JsonObject) -> list[object]:
    content = as_object(attachment.get("content")) or {}
    held = as_object(content.get("file")) or {}
    name = as_text(held.get("filePath") or attachment.get("filename"))
    kind, data = as_text(content.get("type")), as_text(held.get("base64"))
    if kind == "text":
        first = held.get("startLine")
        start = first if isinstance(first, int) and not isinstance(first, bool) else 1
        lines = as_text(held.get("content")).split("\n")
        shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start))
        return [_note(_read(name, shown))]
    if kind in ("image", "pdf") and data:
        media_type = as_text(held.get("type")) if kind == "image" else "application/pdf"
        source = {"type": "base64", "media_type": media_type, "data": data}
        block = {"type": "image" if kind == "image" else "document", "source": source}
        return [_note(_read(name, "(shown below)")), block]
    return [_note(_read(name, compact(content)))] if content else []


def _directory(attachment: JsonObject) -> list[object]:
    path, listed = as_text(attachment.get("path")), as_text(attachment.get("content"))
    return [_note(f"Files in {path}:\n{listed}")]


def _edited(attachment: JsonObject) -> list[object]:
    name, snippet = as_text(attachment.get("filename")), as_text(attachment.get("snippet"))
    return [_note(f"{name} was changed by the user or by a linter:\n{snippet}")]


def _selected(attachment: JsonObject) -> list[object]:
    name, text = as_text(attachment.get("filename")), as_text(attachment.get("content"))
    return [_note(f"The user selected these lines of {name}:\n{text}")]


def _hook(attachment: JsonObject) -> list[object]:
    content = attachment.get("content")
    texts = [as_text(item) for item in as_list(content) or [content] if item]
    return [_note("\n".join(texts))] if texts else []


_WORDS: Mapping[str, Callable[[JsonObject], list[object]]] = {
    "directory": _directory,
    "edited_text_file": _edited,
    "file": _file,
    "hook_additional_context": _hook,
    "selected_lines_in_ide": _selected,
}
