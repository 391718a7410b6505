"""What a conversation's text is made of: prose, code, JSON, logs, CJK.

They differ in what a tokenizer makes of them and in what fits on a page. The division is by simple signs
and made for averages: a single block can land in the wrong class.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from snapshot.messages import File, Opaque, Reasoning, Text, ToolCall, ToolResult, Transcript

__all__ = ["CLASSES", "class_of", "classes_of", "is_code_line"]

CLASSES = ("prose", "code", "JSON", "logs", "CJK")

_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```[^\n]*$", re.DOTALL | re.MULTILINE)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_NUMBERED = re.compile(r"^\s*\d+[→\t:|-]", re.MULTILINE)
_CODE_LINE = re.compile(
    r"^\s*(?:(?:\d+[→\t:|-]\s*)?(?:def|class|import|from|return|if|elif|else|for|while|try|except|with|func|fn|let"
    r"|const|var|public|private|static|package|use|struct|enum|impl|raise|async|export|@\w+|#include|//|/\*|\*|#!)\b.*"
    r"|.*[;{}]\s*|.*\)\s*:\s*|[\w.\[\]'\"]+\s*=\s*\S.*|[+-]\s{2,}\S.*)$"
)
_MANY = 200
"""Characters from which a string in a call's arguments is looked at for itself."""


def class_of(text: str) -> str:
    """The class of a block that is no speech: code, JSON, logs or CJK."""
    stripped = text.strip()
    if len(_CJK.findall(stripped)) * 4 > len(stripped):
        return "CJK"
    if stripped[:1] in ("{", "["):
        try:
            json.loads(stripped)
        except (ValueError, RecursionError):
            pass
        else:
            return "JSON"
    # Without the blanks around them, which decide nothing and would be gone through again at each.
    lines = [bare for line in stripped.split("\n") if (bare := line.strip())]
    coded = sum(1 for line in lines if _CODE_LINE.match(line))
    if len(lines) > 2 and (coded * 3 > len(lines) or len(_NUMBERED.findall(stripped)) * 10 > 8 * len(lines)):
        return "code"
    return "logs"


def is_code_line(line: str) -> bool:
    """Whether a single line is code, a log or data: it has the signs of code, or few words for its length."""
    bare = line.strip()
    if _CODE_LINE.match(bare) or _NUMBERED.match(bare):
        return True
    worded = sum(char.isalpha() or char in " ,.'" for char in line)
    return worded * 10 < 8 * len(line)


def classes_of(transcripts: Iterable[Transcript]) -> dict[str, str]:
    """All text of the transcripts, joined by class; classes without any are left out."""
    found: dict[str, list[str]] = {name: [] for name in CLASSES}
    for transcript in transcripts:
        for message in transcript.messages:
            for part in message.parts:
                for name, text in _blocks(part):
                    if text.strip():
                        found[name].append(text)
    return {name: "\n".join(blocks) + "\n" for name, blocks in found.items() if blocks}


def _blocks(part: object) -> Iterator[tuple[str, str]]:
    match part:
        case Text(text=text) | Reasoning(text=text):
            yield from _speech(text)
        case ToolCall(arguments=arguments):
            yield from _arguments(arguments)
        case ToolResult(content=content):
            for item in content:
                if isinstance(item, Text):
                    yield class_of(item.text), item.text
                else:
                    yield from _blocks(item)
        case Opaque(json=text):
            yield "JSON", text
        case File(text=text) if text:
            yield class_of(text), text
        case _:
            return


def _speech(text: str) -> Iterator[tuple[str, str]]:
    """Words, and the code that is fenced in them."""
    at = 0
    for fence in _FENCE.finditer(text):
        yield from _words(text[at : fence.start()])
        yield "code", fence[1]
        at = fence.end()
    yield from _words(text[at:])


def _words(text: str) -> Iterator[tuple[str, str]]:
    yield ("CJK" if len(_CJK.findall(text)) * 4 > len(text.strip()) else "prose"), text


def _arguments(arguments: str) -> Iterator[tuple[str, str]]:
    """JSON, but for long strings in it, such as files that are written."""
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        yield "JSON", arguments
        return
    long = {key for key, value in values.items() if isinstance(value, str) and len(value) > _MANY}
    for key in long:
        yield class_of(values[key]), values[key]
    rest = {key: value for key, value in values.items() if key not in long}
    if rest:
        yield "JSON", json.dumps(rest, ensure_ascii=False)
