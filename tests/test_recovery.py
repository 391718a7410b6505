"""A rejected request recovers by what its error says; and the commands that do it at a terminal."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

import snapshot
from snapshot.compaction import Archive, compact
from snapshot.compaction.estimate import Estimator
from snapshot.errors import CannotFit, NotOverflow, SummarizerRequired
from snapshot.messages import Image, Message, Text, Transcript, Usage
from snapshot.models.ids import profile_for
from snapshot.recovery import recover
from snapshot.requests import request
from snapshot.requests.check import check
from tests.conftest import HERE, REAL, small_window
from tests.conversations import image_parts, long_conversation, png
from tests.test_cli import run

MODEL = "claude-opus-4-8"


def test_the_errors_figures_correct_the_estimate():
    """One pass is enough, also where the estimate was far too low."""
    transcript = long_conversation(200)
    estimated = Estimator(profile_for(MODEL)).messages(transcript.messages)
    for real in (estimated * 7 // 10, estimated, estimated * 2):
        window = real * 9 // 10
        error = {"error": {"message": f"prompt is too long: {real} tokens > {window} maximum"}}
        done = recover(transcript, error, model=MODEL)
        assert done.report.after <= done.report.safe <= window
        assert done.report.before == pytest.approx(real, rel=0.05)
        assert check(done.request("anthropic"), "anthropic") == []


def counted_conversation() -> Transcript:
    """A conversation of which the provider has counted more than is estimated."""
    transcript = long_conversation(200)
    messages = list(transcript.messages)
    for at, factor in ((4, 1.0), (len(messages) - 5, 1.3)):
        before = Estimator(profile_for(MODEL)).messages(messages[:at])
        messages[at] = replace(messages[at], usage=Usage(1000 + round(before * factor), 10))
    return replace(transcript, messages=tuple(messages))


def test_usage_and_pages_are_no_reason_to_correct_twice():
    """The figures of the error are those of the request as it was sent, overhead and pages included."""
    counted = counted_conversation()
    plain = Estimator(profile_for(MODEL)).messages(counted.messages)
    first = compact(counted, model=MODEL, window=60_000, trigger="manual")
    assert first.archive is not None
    assert first.archive.pages
    error = f"prompt is too long: {plain * 2} tokens > {plain} maximum"
    assert recover(counted, error, model=MODEL).report.before == pytest.approx(plain * 2, rel=0.05)
    again = round(first.report.after * 1.2)
    error = f"prompt is too long: {again} tokens > {again * 9 // 10} maximum"
    for sent in (counted, first.transcript):
        done = recover(sent, error, model=MODEL, archive=first.archive)
        assert done.report.after <= done.report.safe
        if sent is first.transcript:
            assert done.report.before == pytest.approx(again, rel=0.05)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("layout", ["claude-high", "claude-high/dense"])
@pytest.mark.parametrize("share", [0.8, 0.9, 0.95])
def test_what_is_given_is_safe_to_the_token(layout, share):
    """A request takes what it was planned with: labels, notes and headings between pages included."""
    whole = counted_conversation()
    first = compact(whole, model=MODEL, window=60_000, trigger="manual", layout=layout)
    for factor in (0.9, 1.0, 1.1):
        size = round(first.report.after * factor)
        error = f"prompt is too long: {size} tokens > {round(size * share)} maximum"
        for sent in (whole, first.transcript):
            try:
                done = recover(sent, error, model=MODEL, archive=first.archive, layout=layout)
            except SummarizerRequired:
                continue
            assert done.report.after <= done.report.safe


_BEYOND = {
    "just over the window": "prompt is too long: {over} tokens > {window} maximum",
    "ten windows": "prompt is too long: {ten} tokens > {window} maximum",
    "no figures": "prompt is too long",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("window", [30_000, 200_000])
@pytest.mark.parametrize("error", _BEYOND)
@pytest.mark.parametrize("kind", ["text", "images", "pages", "both"])
def test_figures_far_beyond_the_estimate_are_not_believed_whole(kind, error, window):
    """Whatever the request holds: what the figures blame on what stands beside the messages leaves them room,
    and the request that comes back is smaller."""
    images = () if kind in ("text", "pages") else (Image("image/png", png(800, 600)),) * 6
    long = long_conversation(90, size=800)
    shown = Message("user", (Text("These are the screens."), *images))
    conversation = replace(long, messages=(*long.messages[:4], shown, *long.messages[4:])) if images else long
    archive = None
    if kind in ("pages", "both"):
        first = compact(conversation, model=MODEL, window=60_000, trigger="manual")
        conversation, archive = first.transcript, first.archive
        assert archive is not None
        assert archive.pages
    size = compact(conversation, model=MODEL, window=10**7, archive=archive).report.before
    said = _BEYOND[error].format(over=window + 1, ten=10 * window, window=window)
    done = recover(conversation, said, model=MODEL, archive=archive, window=window)
    assert not check(done.request("anthropic"), "anthropic")
    assert done.report.after <= done.report.safe
    again = compact(done.transcript, model=MODEL, window=10**7, archive=done.archive).report.before
    assert again < size


@pytest.mark.parametrize("tools", [0.3, 0.4])
def test_what_stands_beside_the_messages_is_found_whatever_form_is_given(tools):
    """Tools that nobody told of take a share of the window: what went out is what the archive left, and each
    refusal makes that smaller, until it fits; the caller keeps the full history."""
    window = 60_000
    history = long_conversation(150, size=1000)
    archive, sizes = None, []
    sent = compact(history, model=MODEL, window=window)
    for _ in range(4):
        archive = sent.archive
        sizes.append(compact(history, model=MODEL, window=10**7, archive=archive).report.before)
        real = sizes[-1] + round(tools * window)
        if real <= window:
            break
        error = f"prompt is too long: {real} tokens > {window} maximum"
        sent = recover(history, error, model=MODEL, window=window, archive=archive)
    assert sizes[-1] + round(tools * window) <= window
    assert len(sizes) <= 3
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("figures", [True, False])
@pytest.mark.parametrize("form", ["whole", "sent", "text"])
@pytest.mark.parametrize("tools", [0.5, 0.7, 0.9, 1.1])
@pytest.mark.parametrize("real", [0.8, 1.0, 1.4])
def test_each_refusal_makes_it_smaller_whatever_stands_beside_it(tools, form, figures, real):
    """Tools that nobody told of take half the window or more, and text may take other tokens than estimated:
    each answer is smaller than what was refused, until it fits, or an error says what fills the window."""
    window = 24_000
    history = long_conversation(90, size=700)
    plain = Estimator(profile_for(MODEL))
    if form == "text":
        messages, archive = history.messages[:40], None
    else:
        first = compact(history, model=MODEL, window=window)
        messages, archive = first.transcript.messages, first.archive
    sizes: list[int] = []
    for _ in range(12):
        sizes.append(plain.messages(messages))
        counted = round(real * sizes[-1]) + round(tools * window)
        if counted <= window:
            assert tools < 1
            return
        given = history if form == "whole" else replace(history, messages=messages)
        error = (
            f"prompt is too long: {counted} tokens > {window} maximum" if figures else "prompt is too long"
        )
        stored = Archive.from_json(archive.to_json()) if archive is not None else None
        try:
            done = recover(given, error, model=MODEL, window=window, archive=stored)
        except CannotFit as cannot:
            assert tools > 0.8, sizes
            why = str(cannot)
            break
        messages, archive = done.transcript.messages, done.archive
        assert plain.messages(messages) < sizes[-1], sizes
    else:
        raise AssertionError(f"it goes on and on: {sizes}")
    assert "sent beside them" in why


def test_without_figures_the_window_was_exceeded():
    transcript = long_conversation(60)
    estimated = Estimator(profile_for("gpt-5.5")).messages(transcript.messages)
    error = {
        "status": 400,
        "body": {"error": {"message": "Your input exceeds the context window of this model."}},
    }
    done = recover(transcript, error, model="gpt-5.5", window=estimated * 2)
    assert done.report.before > estimated * 1.95
    assert done.report.after <= done.report.safe


def test_too_many_images():
    pictures = tuple(Message("user", (Text(f"Shot {i}"), Image("image/png", png(64, 64)))) for i in range(30))
    transcript = replace(long_conversation(4), messages=(*long_conversation(4).messages, *pictures))
    done = recover(transcript, "The request exceeds the limit of 20 images", model=MODEL)
    assert len(image_parts(done.transcript.messages)) <= 20
    assert "[image dropped: image/png, 64x64 px" in json.dumps(done.request("anthropic"))


def test_a_body_that_is_too_large():
    """Old screenshots go first: text is small, and pages are not."""
    noise = random.Random(1).randbytes
    shots = tuple(
        Message("user", (Text(f"Shot {i}"), Image("image/png", png(64, 64) + noise(200_000))))
        for i in range(20)
    )
    transcript = replace(long_conversation(4), messages=(*long_conversation(4).messages, *shots))
    error = {"status": 413, "body": {"error": {"type": "request_too_large", "message": "too large"}}}
    for limits in ({}, {"request_bytes": 2_000_000}):
        done = recover(transcript, error, model=MODEL, limits=limits)
        assert len(json.dumps(done.request("anthropic"))) < limits.get(
            "request_bytes", 20 * 200_000 * 4 // 3 // 2 * 1.1
        )
        assert image_parts(done.transcript.messages)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"status": 429, "body": {"error": {"message": "Too Many Requests"}}}, "rate limit"),
        ({"status": 401, "body": "invalid x-api-key"}, "auth"),
        ("Overloaded", "capacity"),
        ("ThrottlingException: Too many tokens, please wait before trying again.", "rate limit"),
    ],
)
def test_what_is_no_overflow_is_refused(error, kind):
    with pytest.raises(NotOverflow) as caught:
        recover(long_conversation(60), error, model=MODEL)
    assert caught.value.kind == kind


def test_what_cannot_fit_says_what_holds_it_up():
    transcript = long_conversation(3)
    huge = replace(transcript, messages=(*transcript.messages, Message("user", (Text("word " * 40_000),))))
    error = "prompt is too long: 90000 tokens > 20000 maximum"
    # A message larger than the window is no reason: its bulk becomes pages. What is sent beside them is.
    assert recover(huge, error, model=MODEL).report.pages
    with pytest.raises(CannotFit, match=r"last messages \d+") as caught:
        recover(huge, error, model=MODEL, overhead=19_000)
    assert caught.value.smallest > caught.value.limit


@pytest.mark.parametrize("file", REAL)
def test_real_conversations_recover(real: Path, file):
    transcript = snapshot.load(real / file)
    window = small_window(file)
    done = recover(transcript, f"prompt is too long: 210000 tokens > {window} maximum", model=MODEL)
    assert done.report.after <= done.report.safe < window
    assert check(done.request("anthropic"), "anthropic") == []


# --- the commands

EXAMPLE = HERE / "data" / "example.claude-stream.jsonl"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "session.json"
    body = request(long_conversation(200), "anthropic")
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def test_compact_writes_a_request_and_its_archive(session, tmp_path):
    output = tmp_path / "request.json"
    done = run("compact", session, "-m", MODEL, "--window", "60000", "--target", "0.3", "-o", output)
    assert "pages" in done.stdout
    assert check(json.loads(output.read_text(encoding="utf-8")), "anthropic") == []
    archive = Archive.from_json((tmp_path / "request.archive.json").read_bytes())
    assert archive.pages
    report = json.loads(
        run("compact", session, "-m", MODEL, "--dry-run", "--json", "--target", "9000").stdout
    )
    assert report["pages"] > 0
    assert report["request"] is None


@pytest.mark.parametrize("api", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_compact_for_each_api(session, tmp_path, api):
    output = tmp_path / f"{api}.json"
    run("compact", session, "-m", MODEL, "--target", "9000", "--api", api, "-o", output)
    assert check(json.loads(output.read_text(encoding="utf-8")), api) == []


def test_a_dry_run_writes_nothing(session, tmp_path):
    before = sorted(tmp_path.iterdir())
    done = run("compact", session, "-m", MODEL, "--target", "9000", "--dry-run", "-o", tmp_path / "r.json")
    assert "snapshot" in done.stdout
    assert sorted(tmp_path.iterdir()) == before


def test_recover_at_a_terminal(session, tmp_path):
    error = tmp_path / "error.json"
    error.write_text(json.dumps({"error": {"message": "prompt is too long: 90000 tokens > 40000 maximum"}}))
    run("recover", session, "-m", MODEL, "--error", error, "-o", tmp_path / "r.json")
    assert (tmp_path / "r.json").exists()
    error.write_text("Too Many Requests", encoding="utf-8")
    done = run("recover", session, "-m", MODEL, "--error", error, "-o", tmp_path / "other.json", check=2)
    assert "no overflow but rate limit" in done.stderr
    assert not (tmp_path / "other.json").exists()


def test_exit_codes_of_what_cannot_be(session, tmp_path):
    assert run(
        "compact", session, "-m", MODEL, "--window", "300", "-o", tmp_path / "r.json", check=None
    ).returncode in (3, 4)
    blind = run(
        "compact", session, "-m", "gpt-oss-120b", "--window", "3000", "-o", tmp_path / "r.json", check=4
    )
    assert "summar" in blind.stderr
    run("compact", session, "-m", "gpt-oss-120b", "--window", "6000", "--digest", "-o", tmp_path / "r.json")


def test_continuing_from_an_archive(session, tmp_path):
    archive = tmp_path / "archive.json"
    for _ in range(2):
        run(
            "compact",
            session,
            "-m",
            MODEL,
            "--target",
            "9000",
            "--archive",
            archive,
            "-o",
            tmp_path / "r.json",
        )
    archive.write_text("{", encoding="utf-8")
    done = run("compact", session, "-m", MODEL, "--archive", archive, "-o", tmp_path / "r.json", check=2)
    assert "not an archive" in done.stderr
    assert archive.read_text(encoding="utf-8") == "{"
