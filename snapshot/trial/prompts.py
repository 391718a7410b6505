"""The words of a trial: what is asked of a page, and what a passage is copied by."""

from __future__ import annotations

from collections.abc import Sequence

from snapshot.trial.texts import Question, TrialText

__all__ = ["ANSWER_TOKENS", "COPY_TOKENS", "copying", "questions"]

ANSWER_TOKENS = 2000
"""The longest answer to the questions; about 1,100 tokens are needed."""
COPY_TOKENS = 2500
"""The longest copy of a passage; about 900 tokens are needed."""


def questions(guide: str, asked: Sequence[Question]) -> str:
    """The prompt that asks all questions about a page."""
    listed = "\n".join(f"{question.number}. {question.asks}" for question in asked)
    return f"""{guide}

Answer from the image alone, character for character as it stands there. Where you cannot read an answer for
certain, or where it does not stand there, answer null: a guess is worse than null.
Answer with one JSON object and nothing else: each number of a question as a key, with a string or null.

{listed}"""


def copying(guide: str, text: TrialText) -> str:
    """The prompt that asks for a passage, word for word."""
    key = text.passage_key
    return f"""{guide}

Copy what stands between the line "passage {key} begins" and the line "passage {key} ends", character for
character, with its lines, and without these two. Write newlines, tabs and blanks where marks stand for them.
Put a ? for a character that you cannot read. Answer with the copy and nothing else."""
