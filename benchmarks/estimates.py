"""Estimates of text beside what installed vocabularies count: how far off they are, by kind of text.

    python -m benchmarks.estimates TRANSCRIPT…

Needs the extra `tokenizers`. For each vocabulary two columns: the error of one ratio for all text, and that
of `snapshot.models.tokens.text_tokens`. Beside the transcripts' own kinds stand the texts of the tests.
"""

from __future__ import annotations

import sys

import snapshot
from snapshot.costs.content_kinds import classes_of
from snapshot.models.ids import profile_for
from snapshot.models.tokens import counter, text_tokens
from tests.test_tokens import TEXTS

READERS = {
    "o200k_base": "gpt-5.6-sol",
    "qwen3": "qwen3.8-max",
    "claude-new": "claude-opus-4-8",
    "claude-old": "claude-haiku-4-5",
}


def errors(text: str, vocabulary: str) -> tuple[float, float] | None:
    """The relative errors of one ratio and of the estimate; None where the vocabulary is not installed."""
    count, reader = counter(vocabulary), profile_for(READERS[vocabulary])
    if count is None:
        return None
    counted = count(text)
    return len(text) / reader.chars_per_token / counted - 1, text_tokens(text, reader) / counted - 1


def main() -> None:
    installed = [name for name in READERS if counter(name) is not None]
    if not installed:
        sys.exit("no vocabulary is installed: pip install 'snapshot-pages[tokenizers]'")
    texts = dict(TEXTS)
    for path in sys.argv[1:]:
        texts |= {f"{path[-24:]} {kind}": text for kind, text in classes_of([snapshot.load(path)]).items()}
    print(f"{'text':<36}{'characters':>11}" + "".join(f"{name:>16}" for name in installed))
    for name, text in texts.items():
        found = [errors(text, vocabulary) for vocabulary in installed]
        print(
            f"{name:<36}{len(text):>11,}"
            + "".join(f"{ratio:>+9.0%}{own:>+7.0%}" for ratio, own in filter(None, found))
        )


if __name__ == "__main__":
    main()
