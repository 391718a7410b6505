"""The cases of `tests/cases/` that a compactor meets, each by what its note says is right."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.compaction import compact
from snapshot.errors import CannotFit
from snapshot.messages import Image
from snapshot.models.ids import profile_for
from snapshot.requests.check import check
from snapshot.transcripts import from_messages
from tests.conftest import case
from tests.conversations import image_parts

MODEL = "claude-opus-4-8"
APIS = {"anthropic": MODEL, "openai": "gpt-5.5", "openai-responses": "gpt-5.6-sol", "gemini": "gemini-3-pro"}


def raw(number: str) -> Any:
    return json.loads((case(number) / "input.json").read_text(encoding="utf-8"))


def padded(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The case with enough text in its middle to be worth a page."""
    filler = [
        {"role": "user", "content": f"Read part {i}."}
        if i % 2 == 0
        else {
            "role": "assistant",
            "content": f"part {i}: " + f"line {i} of the old report, nothing new. " * 60,
        }
        for i in range(20)
    ]
    return (
        [messages[0], *filler[1:], *messages[1:]] if messages[0]["role"] == "user" else [*filler, *messages]
    )


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("tail", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8])
@pytest.mark.parametrize("target", [0.05, 0.2, 0.5, 0.95])
def test_case_011_calls_and_results_stay_together(api, tail, target):
    conversation = padded(raw("011"))
    try:
        done = compact(
            conversation,
            model=APIS[api],
            window=20_000,
            trigger="manual",
            target=target,
            tail=tail,
            digest=True,
        )
    except CannotFit:
        return
    assert check(done.request(api), api, limits=profile_for(APIS[api]).limits) == []


def test_case_011_errors_stay_errors():
    done = compact(padded(raw("011")), model=MODEL, window=20_000, trigger="manual", tail=0.0)
    assert done.archive is not None
    assert "⁋error" in done.archive.source.text


@pytest.mark.parametrize("api", APIS)
def test_case_012_orphans_are_dropped_and_counted(api):
    done = compact(raw("012"), model=APIS[api])
    assert done.report.orphans == 3
    body = json.dumps(done.request(api))
    assert check(done.request(api), api) == []
    for gone in ("call_gone_17", "call_zz", "belongs to nobody"):
        assert gone not in body
    assert body.index("Drop the rows without an email") < body.index("4799 rows, no nulls")


def test_case_014_pairs_stay_together_at_every_boundary():
    items = raw("014")
    for count in range(1, len(items) + 1):
        done = compact(items[:count], model="gpt-5.6-sol")
        assert check(done.request("openai-responses"), "openai-responses") == []
    transcript = from_messages(items)
    for message in transcript.messages:
        assert "encrypted" not in snapshot.source_of(snapshot.Transcript((message,), "openai-responses")).text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("limit", [100, 50, 20, 10, 5, 1, 0])
def test_case_016_the_callers_images_count_first(tmp_path: Path, limit):
    target = tmp_path / "input.json"
    subprocess.run([sys.executable, case("016") / "make_input.py", target], check=True)
    conversation = json.loads(target.read_text(encoding="utf-8"))
    done = compact(
        conversation,
        model="claude-sonnet-4-5",
        window=200_000,
        limits={"images_per_request": limit},
        digest=True,
    )
    body = done.request("anthropic")
    assert check(body, "anthropic", limits={"images_per_request": limit}) == []
    assert json.dumps(body).count('"type": "image"') == done.report.images <= limit
    names = [rung.name for rung in done.report.rungs]
    assert names.index("images") < names.index("snapshot") if "snapshot" in names else True


@pytest.mark.parametrize("api", APIS)
def test_case_017_images_stand_where_the_api_takes_them(api):
    done = compact(raw("017"), model=APIS[api])
    assert check(done.request(api), api, limits=profile_for(APIS[api]).limits) == []
    paged = compact(padded(raw("017")), model=APIS[api], window=20_000, trigger="manual", tail=0.6)
    assert check(paged.request(api), api, limits=profile_for(APIS[api]).limits) == []
    if api == "openai":
        roles = [message["role"] for message in done.request(api)["messages"]]
        at = roles.index("tool")
        assert roles[at : at + 4] == ["tool", "tool", "tool", "user"]


def test_case_021_secrets_are_in_nothing_that_is_kept():
    settings: dict[str, Any] = {"model": MODEL, "window": 20_000, "trigger": "manual", "tail": 0.0}
    done = compact(padded(raw("021")), **settings)
    plain = compact(padded(raw("021")), **settings, redact=False)
    assert done.archive is not None
    assert plain.archive is not None
    assert sum(done.report.redactions.values()) >= 8
    # What only the unredacted archive says are the secrets; none of it is in anything that is kept.
    kept = done.archive.to_json() + json.dumps(done.request("anthropic")) + json.dumps(done.report.as_json())
    unredacted, redacted = (
        set(re.split(r"[\s\"'=@,;]+", archive.source.text)) for archive in (plain.archive, done.archive)
    )
    secrets = {word for word in unredacted - redacted if len(word) > 12}
    assert len(secrets) >= 6
    assert [word for word in secrets if word in kept] == []
    for stays in ("3f786850e387550fdab836ed7e6dc881de23001b", "PASSWORD_MIN_LENGTH=14", "TOKEN_LIMIT=200000"):
        assert stays in done.archive.source.text


def test_case_026_what_was_said_is_said_with_the_same_bytes(tmp_path: Path):
    subprocess.run([sys.executable, case("026") / "make_input.py", tmp_path], check=True)
    before, after = (
        json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8")) for name in ("before", "after")
    )
    first = compact(before, model=MODEL, window=120_000, target=0.3, tail=0.02)
    assert first.archive is not None

    def lead(done: snapshot.Compaction, pages: int) -> str:
        """The request up to and with so many pages."""
        assert done.archive is not None
        message = done.transcript.messages[done.archive.head]
        at = [place for place, part in enumerate(message.parts) if isinstance(part, Image)][pages - 1]
        return repr([part.data if isinstance(part, Image) else part for part in message.parts[: at + 1]])

    full = first.report.pages - 1
    assert full >= 2
    for archive in (first.archive, None):
        for threads in (1, 8):
            second = compact(
                after, model=MODEL, window=120_000, target=0.3, tail=0.02, archive=archive, threads=threads
            )
            old, new = (image_parts(done.transcript.messages) for done in (first, second))
            assert [image.data for image in new[:full]] == [image.data for image in old[:full]]
            assert lead(second, full) == lead(first, full)


def test_case_027_gemini_parity():
    contents = raw("027")
    done = compact(contents, model="gemini-3-pro")
    body = done.request("gemini")
    assert check(body, "gemini") == []
    text = json.dumps(body)
    assert "function_call" not in text
    assert "inline_data" not in text
    assert text.index("Oslo") < text.index("Cairo")
    source = snapshot.source_of(from_messages(contents)).text
    assert "c2lnLTE=" not in source
    assert "print(31-3)" in source
