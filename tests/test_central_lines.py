"""Central lines of money and room: each test fails where its line is broken."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pytest

from snapshot.compaction import Options, compact
from snapshot.compaction.body import body_bytes
from snapshot.compaction.boundaries import groups, repair
from snapshot.compaction.estimate import Estimator
from snapshot.compaction.options import Budget
from snapshot.compaction.usage import context_usage
from snapshot.messages import Image, Message, Text, Transcript, Usage
from snapshot.models.ids import profile_for
from snapshot.models.tokens import text_tokens
from snapshot.requests import APIS
from snapshot.transcripts import from_messages
from tests.compacting import MODELS, VISION, texts
from tests.conversations import image_parts, long_conversation, png

READER = profile_for(VISION)


def with_more(transcript: Transcript, *more: Message) -> Transcript:
    return replace(transcript, messages=(*transcript.messages, *more))


# --- restoring


@pytest.mark.parametrize("behind", [1, 2, 3])
@pytest.mark.parametrize("api", APIS)
def test_what_follows_the_archive_in_one_message_is_restored(api, behind):
    """APIs without two user messages in a row join the archive's end with the user's next words."""
    news = [
        Message("user", (Text("Newest: mind the column 9f3a."), Image("image/png", png(48, 24)))),
        Message("assistant", (Text("I mind it."),)),
        Message("user", (Text("Newer still: and 77e1."),)),
    ][:behind]
    whole = with_more(long_conversation(60), *news)
    done = compact(whole, model=MODELS[api], window=12_000, trigger="manual", tail=0.0)
    assert done.archive is not None
    assert done.archive.pages
    restored = done.archive.restore(from_messages(done.request(api)))
    assert texts(restored.messages) == texts(whole.messages)
    assert len(image_parts(restored.messages)) == 1
    assert done.archive.restore(done.transcript).messages == whole.messages


# --- how full the window is


@pytest.mark.parametrize("output", [0, 10, 3000, 40_000])
def test_the_answers_tokens_stay_in_the_window(output):
    """What a provider counted as output is input from the next request on, to the token."""
    messages = list(long_conversation(12).messages)
    estimated = Estimator(READER).messages(messages[:20])
    messages[20] = replace(messages[20], usage=Usage(estimated + 100, output))
    filled = context_usage(messages, READER, overhead=0)
    after = filled.estimator.messages(messages[21:])
    assert filled.tokens == pytest.approx(estimated + 100 + output + after, abs=len(messages))
    done = compact(Transcript(tuple(messages), "anthropic"), model=VISION, window=1_000_000, overhead=0)
    assert done.report.occupancy == filled.tokens


@pytest.mark.parametrize("share", [0.55, 0.7, 0.9, 0.99])
def test_a_report_never_lowers_the_estimate(share):
    """A provider that counted less, of a cheap beginning, says nothing of what comes after it."""
    messages = list(long_conversation(12).messages)
    plain = Estimator(READER)
    estimated = plain.messages(messages[:20])
    messages[20] = replace(messages[20], usage=Usage(round(estimated * share), 10))
    filled = context_usage(messages, READER, overhead=0)
    assert filled.estimator.scale >= 1
    for message in messages:
        assert filled.estimator.message(message) >= plain.message(message)


# --- margins


@pytest.mark.parametrize("window", [2_000, 8_192, 200_000, 1_048_576])
@pytest.mark.parametrize("max_output", [0, 500, 64_000])
def test_a_fiftieth_of_the_window_stays_free(window, max_output):
    """Estimates are wrong by something: beside the answer, a fiftieth of the window is no one's."""
    answer = min(max_output or window // 8, window // 4)
    safe = Budget.of(Options(), window, max_output).safe
    assert window * 0.979 - 1 <= safe + answer <= window * 0.98 + 1
    report = compact(
        long_conversation(1), model=VISION, window=window, max_output=max_output or answer
    ).report
    assert report.safe == safe


@pytest.mark.parametrize("limit", [20, 40, 100])
def test_a_twentieth_of_a_limit_on_images_stays_free(limit):
    shots = [
        Message("user", (Text(f"Shot {at}"), Image("image/png", png(64, 64)))) for at in range(limit + 5)
    ]
    transcript = with_more(long_conversation(10), *shots)
    done = compact(
        transcript, model=VISION, window=200_000, rungs=("images",), limits={"images_per_request": limit}
    )
    assert limit * 0.9 <= len(image_parts(done.transcript.messages)) <= limit * 0.95


def test_a_twentieth_of_a_limit_on_bytes_stays_free():
    noise = Random(5).randbytes
    messages = [Message("user", (Text("Look at the screen, again and again."),))]
    for at in range(80):
        messages.append(Message("assistant", (Text(f"Which screen is number {at}?"),)))
        messages.append(Message("user", (Text("This."), Image("image/png", png(64, 64) + noise(10_000)))))
    transcript = Transcript(tuple(messages), "anthropic")
    whole = body_bytes(transcript.messages)
    for factor, fits in ((1.1, True), (1.06, True), (1.04, False), (1.01, False), (0.8, False)):
        limit = int(whole * factor)
        settings = Options(window=200_000, tail=0.01, rungs=("images",), limits={"request_bytes": limit})
        done = compact(transcript, model=VISION, options=settings)
        assert bool(done.report.no_op) is fits
        assert len(image_parts(done.transcript.messages)) > 10
        assert len(json.dumps(done.request("anthropic"))) <= limit * 0.97


# --- tokens of scripts


@pytest.mark.parametrize("model", [*MODELS.values(), "qwen3-vl-plus", "grok-4"])
@pytest.mark.parametrize(
    "text",
    [
        "数据库连接失败后重试三次仍然没有成功因此任务被取消请检查网络设置与防火墙规则" * 8,
        "設定ファイルの読み込みに失敗したため既定値を使用して処理を継続します" * 8,
        "데이터베이스연결이실패하여세번다시시도했지만성공하지못했습니다" * 8,
    ],
)
def test_a_character_of_cjk_is_not_a_fourth_of_a_token(model, text):
    reader = profile_for(model)
    latin = ("the connection failed after three attempts and the task was cancelled " * 20)[: len(text)]
    assert text_tokens(text, reader) > len(text) * 0.4
    assert text_tokens(text, reader) > 1.5 * text_tokens(latin, reader)
    mixed = text + latin
    both = text_tokens(text, reader) + text_tokens(latin, reader)
    assert text_tokens(mixed, reader) == pytest.approx(both, rel=0.05, abs=3)


# --- where it is cut


@pytest.mark.parametrize("tail", [0.1, 0.2, 0.4, 0.6])
@pytest.mark.parametrize("window", [12_000, 20_000])
def test_the_tail_has_its_share_and_at_most_one_group_more(tail, window):
    transcript = long_conversation(120)
    done = compact(transcript, model=VISION, window=window, tail=tail)
    assert done.archive is not None
    messages = repair(transcript.messages)[0]
    plain = Estimator(READER)
    share = Budget.of(Options(tail=tail), window, READER.max_output).tail
    # Where pages do not come near the goal, a fifth of what is sent.
    most = max(share, 0.22 * done.report.after)
    largest = max(sum(map(plain.message, messages[g.start : g.stop])) for g in groups(messages))
    assert largest < share / 2
    kept = sum(map(plain.message, messages[done.archive.boundary :]))
    assert share <= kept < most + largest
    assert done.transcript.messages[-done.report.tail :] == transcript.messages[done.archive.boundary :]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("tail", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("trigger", ["target", "manual"])
def test_an_earlier_boundary_never_moves_back(tail, trigger):
    """Although the tail may be larger now: what was on pages stays there, so that the cache holds."""
    transcript = long_conversation(130)
    first = compact(transcript, model=VISION, window=20_000, tail=0.05)
    assert first.archive is not None
    # As it was, with news that have room in the larger tail, and with more than that.
    for turns in (130, 135, 145, 160, 190):
        again = compact(
            long_conversation(turns),
            model=VISION,
            window=20_000,
            tail=tail,
            trigger=trigger,
            archive=first.archive,
        )
        assert again.archive is not None
        assert again.archive.boundary >= first.archive.boundary
        assert again.archive.messages[: len(first.archive.messages)] == first.archive.messages
