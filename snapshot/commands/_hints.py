"""Advice in errors: the package speaks of Python's arguments, the command line of its own options."""

from __future__ import annotations

import re

__all__ = ["for_command_line"]

# What is called otherwise at the command line, or is not there.
_OTHERWISE = {
    "pass `summarize=`, or accept the offline digest (`digest=True`)": (
        "`--digest` accepts an offline digest in place of a summary"
    ),
    "(like, --like)": "(--like)",
    'insist on the format "text" to take it as a plain document': "--from text takes it as plain text",
}
# An argument in a sentence: `font=`, `digest=True`.
_ARGUMENT = re.compile(r"`([a-z][a-z_]*)=(?:True)?`")


def for_command_line(text: str) -> str:
    """`text` with each argument of Python as the option that stands for it: `font=` is `--font`."""
    for python, told in _OTHERWISE.items():
        text = text.replace(python, told)
    return _ARGUMENT.sub(lambda match: f"`--{match[1].replace('_', '-')}`", text)
