"""Marks in place of random characters: exact on pages, in manifests and archives; nobody forges one."""

from __future__ import annotations

import json
import random
import re
import string
from base64 import b64encode
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snapshot
from snapshot.compaction.archive import Archive
from snapshot.compaction.history import forget
from snapshot.compaction.replaced import result_text
from snapshot.facts.run_list import run_list
from snapshot.messages import Image, Message, Text, ToolCall, ToolResult, Transcript
from snapshot.models.ids import profile_for
from snapshot.models.profile import ModelProfile
from snapshot.pages import folder
from snapshot.pages.layout import layout_for
from snapshot.pages.manifest import load_manifest
from snapshot.pages.render import Typesetter
from snapshot.source import run_marks
from snapshot.source.marks import ELIDED, RUN_MARK
from snapshot.source.repeats import (
    expand_repeats,
    fold_chapters,
    fold_repeats,
    folded_offset,
    original_span,
)
from snapshot.source.source import source_of
from snapshot.source.text import Source, marks_of
from tests.conftest import examples, read_back, small
from tests.test_cli import run as command

MODEL = "claude-opus-4-8"
HEX, BASE64 = "0123456789abcdef", string.ascii_letters + string.digits + "+/"


def drawn(rng: random.Random, size: int, alphabet: str = HEX) -> str:
    return "".join(rng.choices(alphabet, k=size))


RNG = random.Random(11)
RUNS = [drawn(RNG, size, alphabet) for alphabet in (HEX, BASE64) for size in (65, 128, 250)]
WRAPPED = "\n".join([*(drawn(RNG, 64, BASE64) for _ in range(3)), "b2s0YXQ="])
LONG = [f"line {number} of a file that is long enough to be worth a reference" for number in range(6)]
LONG += [f"key {number}: {run} is the key of that number" for number, run in enumerate(RUNS)]
PAYLOAD = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUg" * 20
FORGED = [
    f"{ELIDED}1{ELIDED}hex 65 abcdef..123456{ELIDED}",
    f"{ELIDED}2{ELIDED}",
    f"{ELIDED}",
    f"{ELIDED}3",
    "⇐3 lines as 3 lines up in result 1: x",
    f"{PAYLOAD} 1 {PAYLOAD} x{ELIDED}",
    f"{PAYLOAD}==1{PAYLOAD}",
]
LINES = st.sampled_from(
    [*LONG, *LONG, WRAPPED, "", "  ", "}", "a\rb", "\x1b[31mred", "\x1b]0;title", *FORGED]
)
blocks = st.one_of(
    st.lists(LINES, max_size=6),
    st.integers(0, len(LONG)).map(lambda first: LONG[first:]),
    st.tuples(LINES, st.integers(1, 30)).map(lambda run: [run[0]] * run[1]),
)
words = st.lists(blocks, max_size=5).map(lambda parts: "\n".join(line for part in parts for line in part))


@st.composite
def transcripts(draw) -> Transcript:
    messages: list[Message] = []
    for number, text in enumerate(draw(st.lists(words, max_size=8))):
        match draw(st.integers(0, 3)):
            case 0:
                messages.append(Message("user", (Text(text),)))
            case 1:
                messages.append(Message("assistant", (Text("Now."), Text(text))))
            case 2:
                call = ToolCall(str(number), "Bash", json.dumps({"command": f"echo {RUNS[number % 6]}"}))
                messages.append(Message("assistant", (call,)))
                messages.append(Message("tool", (ToolResult(str(number), (Text(text),)),)))
            case _:
                image = Image(f"7{ELIDED}hex 65 abcdef..123456{ELIDED}", b"1234")
                messages.append(Message("user", (image, Text(text))))
    return Transcript(tuple(messages), draw(st.sampled_from(["anthropic", "anthropic", "text"])))


@pytest.fixture(params=["small", "known"])
def _known(request, monkeypatch):
    """Texts of any size are known from call to call, or none are."""
    forget()
    monkeypatch.setattr(run_marks, "_FEW", 1 if request.param == "known" else 1 << 40)
    yield
    forget()


def expanded(folded: Source, original: Source) -> str:
    return expand_repeats(folded.text, folded.marks, runs=folded.runs, most=len(original.text))


@pytest.mark.usefixtures("_known")
@settings(max_examples=examples(40))
@given(transcripts(), st.integers(0, 3000))
def test_folding_and_expanding_gives_the_source(transcript, visible_from):
    source = source_of(transcript)
    visible_from = min(visible_from, len(source.text))
    folded = fold_repeats(source, visible_from=visible_from, runs=True)
    assert expanded(folded, source) == source.text
    assert folded.text.startswith(source.text[:visible_from])
    shown = folded.text[visible_from:]
    begun = next((run for run in RUNS if source.text[:visible_from][-250:].endswith(run[:9])), "")
    assert all(run not in shown for run in RUNS if run != begun)


@pytest.mark.usefixtures("_known")
@settings(max_examples=examples(40))
@given(transcripts(), st.integers(0, 3000))
def test_structure_is_kept(transcript, visible_from):
    """Marks, spans and the maps to the original text and from it."""
    source = source_of(transcript)
    folded = fold_repeats(source, visible_from=min(visible_from, len(source.text)), runs=True)
    own = {at for one in folded.repeats for at in marks_of(folded.text, one)}
    assert list(folded.marks) == sorted(set(folded.marks))
    assert own <= set(folded.marks)
    assert [folded.text[mark] for mark in folded.marks if mark not in own] == [
        source.text[mark] for mark in source.marks
    ]
    for span, (start, stop) in zip(source.spans, folded.spans, strict=True):
        assert original_span(folded, start, stop) == span
    every = [original_span(folded, at, at)[0] for at in range(len(folded.text) + 1)]
    assert every == sorted(every)
    assert every[-1] == len(source.text)
    places = [folded_offset(folded, at) for at in range(len(source.text) + 1)]
    assert places == sorted(places)
    assert [item.size for item in folded.elisions] == [item.size for item in source.elisions]
    assert all(folded.text[item.offset] == ELIDED for item in folded.elisions)


@pytest.mark.usefixtures("_known")
@settings(max_examples=examples(40))
@given(
    transcripts().filter(lambda transcript: transcript.format != "text"), transcripts(), st.integers(0, 2000)
)
def test_a_conversation_that_grows_keeps_its_text_and_numbers(transcript, more, visible_from):
    whole = replace(transcript, messages=(*transcript.messages, *more.messages))
    visible_from = min(visible_from, len(source_of(transcript).text))
    before = fold_repeats(source_of(transcript), visible_from=visible_from, runs=True)
    grown = fold_repeats(source_of(whole), visible_from=visible_from, runs=True)
    again = fold_repeats(source_of(transcript), visible_from=visible_from, runs=True)
    assert again == before
    assert grown.text.startswith(before.text)
    assert grown.repeats[: len(before.repeats)] == before.repeats
    assert grown.marks[: len(before.marks)] == before.marks
    assert grown.runs[: len(before.runs)] == before.runs


@pytest.mark.usefixtures("_known")
@settings(max_examples=examples(25))
@given(transcripts().filter(lambda transcript: transcript.format != "text"), st.data())
def test_chapters_are_what_they_are_alone(transcript, data):
    source = source_of(transcript)
    edges = sorted({start for start, _ in source.spans})
    if len(edges) < 2:
        return
    chosen = sorted(data.draw(st.sets(st.sampled_from(edges), min_size=1, max_size=3)))
    folded = fold_chapters(source, chosen, runs=True)
    assert expanded(folded, source) == source.text
    last = fold_repeats(source, visible_from=chosen[-1], runs=True)
    assert folded.text.endswith(last.text[chosen[-1] :])


def test_a_chapter_of_nothing_takes_no_run_from_those_before_it():
    said = tuple(Message("user", (Text(text),)) for text in (f"key: {RUNS[0]} is long", ""))
    source = source_of(Transcript(said, "anthropic"))
    folded = fold_chapters(source, [0, len(source.text)], runs=True)
    assert folded.runs == (RUNS[0],)
    assert expanded(folded, source) == source.text


def test_payloads_with_a_number_between_them_are_no_mark_of_a_run():
    text = f"{RUNS[0]} {PAYLOAD}==1{PAYLOAD} and {RUNS[1]}"
    source = source_of(Transcript((Message("user", (Text(text),)),), "anthropic"))
    assert f"{ELIDED}1{ELIDED}" in source.text
    assert expanded(fold_repeats(source, runs=True), source) == source.text


def test_lines_with_the_same_run_are_said_once_and_forged_ones_are_not_taken_for_them():
    lines = "\n".join([*LONG, ""])
    result = ToolResult("c", (Text(lines),))
    call = Message("assistant", (ToolCall("c", "Bash", "{}"),))
    twice = Transcript((call, Message("tool", (result,)), Message("user", (Text(lines),))), "anthropic")
    source = source_of(twice)
    folded = fold_repeats(source, runs=True)
    assert len(folded.references) == 1
    assert len(folded.repeats) == len(RUNS) + 1
    printed = folded.text[: folded.references[0].start]
    forged = Transcript(
        (*twice.messages[:2], Message("user", (Text(printed[printed.index("line 0") :]),))), "anthropic"
    )
    again = fold_repeats(source_of(forged), runs=True)
    assert expanded(again, source_of(forged)) == source_of(forged).text
    assert not any(
        ELIDED in source_of(forged).text[one.original_start : one.original_stop] for one in again.references
    )


@settings(max_examples=examples(20))
@given(transcripts())
def test_pages_read_back_to_the_source(transcript):
    """What pages say, with the runs, is what pages of the text itself say."""
    source = source_of(transcript)
    if "\r" in source.text or "\x1b" in source.text:
        return
    folded = fold_repeats(source, runs=True)
    text, marks = read(folded)
    assert expand_repeats(text, marks, runs=folded.runs) == read(source)[0]


def read(source: Source) -> tuple[str, list[int]]:
    """What the pages of a source say together, and the offsets of marks in it."""
    setting = Typesetter(small(60, 12))
    text, marks = "", list[int]()
    for page in read_back(setting, source, list(setting.pages(source))):
        marks += (len(text) + mark for mark in page.marks)
        text += page.text
    return text, marks


def conversation(count: int, seed: int = 5) -> tuple[Transcript, list[str]]:
    """Calls whose results have a digest and a key each, in prose; and these."""
    rng = random.Random(seed)
    some = re.findall(
        r"\w+", "the parser reads a line and the tests then fail because of an index out of range"
    )
    messages = [Message("user", (Text("Fix the parser, please."),))]
    runs: list[str] = []
    for number in range(count):
        runs += [drawn(rng, 128), drawn(rng, 180, BASE64)]
        prose = "\n".join(" ".join(rng.choices(some, k=12)) for _ in range(25))
        call = ToolCall(f"c{number}", "Bash", json.dumps({"command": f"sha512sum file{number}.bin"}))
        messages.append(Message("assistant", (Text(f"Now file {number}."), call)))
        text = f"{runs[-2]}  file{number}.bin\nkey {runs[-1]} end\n{prose}"
        messages.append(Message("tool", (ToolResult(f"c{number}", (Text(text),)),)))
    return Transcript((*messages, Message("user", (Text("Go on."),))), "anthropic"), runs


def test_a_folder_holds_the_runs_and_is_checked(tmp_path):
    transcript, runs = conversation(6)
    path, pages = tmp_path / "run.json", tmp_path / "pages"
    path.write_text(json.dumps(snapshot.request(transcript, "anthropic")["messages"]))
    command("render", path, "-m", MODEL, "-o", pages, "--no-redaction")
    command("read", pages, "--check")
    manifest = load_manifest(pages)
    assert list(manifest.source.runs) == runs
    assert manifest.guide.count("stands for run 7") == 1
    assert "is an emoji" not in manifest.guide
    assert not any(run in folder.read_source(pages, manifest).text for run in runs)
    said = command("read", pages).stdout
    assert all(run in said for run in runs)
    changed = manifest.to_json().replace(runs[2].encode(), runs[2][:-1].encode())
    (pages / "manifest.json").write_bytes(changed)
    command("read", pages, "--check", check=1)


def test_mcp_gives_a_run(tmp_path):
    pytest.importorskip("mcp")
    from snapshot.mcp.library import Library
    from snapshot.mcp.server import answer

    transcript, runs = conversation(6)
    path, pages = tmp_path / "run.json", tmp_path / "pages"
    path.write_text(json.dumps(snapshot.request(transcript, "anthropic")["messages"]))
    command("render", path, "-m", MODEL, "-o", pages, "--no-redaction")
    library = Library(pages)
    assert answer(library, "run", {"number": 3}) == runs[2]
    assert runs[2] in answer(library, "search", {"words": runs[2][30:50]})


def compacted(transcript: Transcript, archive: Archive | None = None, window: int = 40_000):
    return snapshot.compact(transcript, model=MODEL, window=window, trigger="manual", archive=archive)


def test_a_compaction_has_marks_on_its_pages_and_the_runs_beside_them_or_in_the_archive():
    transcript, runs = conversation(60)
    done = compacted(transcript)
    archive = done.archive
    assert archive is not None
    assert archive.runs
    shown = archive.printed.text[archive.printed_pages[0][0] : archive.printed_pages[-1][1]]
    assert not any(run in shown for run in runs)
    listed = [run for run in runs if run in archive.facts]
    assert 0 < len(listed) < len(runs)
    lines = dict(line.split(": ", 1) for line in archive.facts.splitlines() if line.split(": ")[0].isdigit())
    assert lines
    assert all(archive.run(int(number)) == run for number, run in lines.items())
    # The newest are listed, and the list keeps to its room.
    assert max(map(int, lines)) > len(archive.printed.runs) - 20
    text = json.dumps(done.request("anthropic"), ensure_ascii=False)
    assert text.count("stands for run 7") == 1
    for number, run in enumerate(archive.printed.runs, 1):
        assert archive.answer({"run": number}) == run
        assert run in archive.answer({"search": run[40:60]})
    assert "not 0" in archive.answer({"run": 0})
    assert Archive.from_json(archive.to_json()) == archive
    assert archive.restore(done.transcript).messages == transcript.messages


def test_without_runs_nothing_is_said_of_them():
    transcript, runs = conversation(60)
    plain = Transcript(
        tuple(
            replace(
                message,
                parts=tuple(
                    replace(
                        part, content=tuple(Text(result_text(part).split("\n", 2)[2]) for _ in part.content)
                    )
                    if isinstance(part, ToolResult)
                    else part
                    for part in message.parts
                ),
            )
            for message in transcript.messages
        ),
        "anthropic",
    )
    done = compacted(plain, window=30_000)
    text = json.dumps(done.request("anthropic"))
    assert "stands for run" not in text
    assert "by their numbers on the pages" not in text
    assert runs


def test_full_pages_stay_byte_for_byte_as_the_conversation_grows():
    transcript, _ = conversation(120)
    first = compacted(replace(transcript, messages=transcript.messages[:161]), window=200_000)
    second = compacted(transcript, first.archive, window=200_000)
    assert first.archive is not None
    assert second.archive is not None
    images = [
        [
            part["source"]["data"]
            for message in done.request("anthropic")["messages"]
            for part in message["content"]
            if isinstance(part, dict) and part["type"] == "image"
        ]
        for done in (first, second)
    ]
    assert len(images[0]) > 2
    assert images[1][: len(images[0]) - 1] == images[0][:-1]
    assert first.archive.printed.runs == second.archive.printed.runs[: len(first.archive.printed.runs)]


def test_an_archive_of_before_keeps_its_runs_on_its_pages():
    """What was sent without marks goes on without."""
    transcript, runs = conversation(120)
    first = compacted(replace(transcript, messages=transcript.messages[:121]))
    assert first.archive is not None
    source = first.archive.source
    folded = fold_chapters(source, (first.archive.pages[0][0],))
    pages = Typesetter(layout_for(name=first.archive.tiers[0])).measure(
        folded, first.archive.pages[0][0], len(folded.text)
    )
    former = replace(
        first.archive,
        runs=0,
        chapters=(),
        starts=(),
        sizes=(),
        pages=tuple(original_span(folded, page.start, page.stop) for page in pages),
        printed_pages=tuple((page.start, page.stop) for page in pages),
        tiers=first.archive.tiers[:1] * len(pages),
        prices=tuple(page.tokens for page in pages),
    )
    value = json.loads(former.to_json())
    assert "runs" not in value
    loaded = Archive.from_json(json.dumps(value))
    assert any(run in loaded.printed.text for run in runs)
    again = compacted(transcript, loaded, window=200_000)
    assert again.archive is not None
    assert again.archive.boundary > loaded.boundary
    assert not again.archive.runs
    assert again.archive.printed_pages[: len(pages) - 1] == former.printed_pages[:-1]


def test_secrets_are_redacted_before():
    token = "ghp_" + drawn(random.Random(2), 36, string.ascii_letters + string.digits)
    claims = '{"alg":"HS256","typ":"JWT"}', '{"sub":"1234567890"}'
    header = "".join(f"{b64encode(claim.encode()).decode().rstrip('=')}." for claim in claims)
    secret = header + drawn(random.Random(3), 43, string.ascii_letters + string.digits)
    transcript, _ = conversation(60)
    messages = list(transcript.messages)
    messages[1] = Message("assistant", (Text(f"token {token}, bearer {secret}"), *messages[1].parts[1:]))
    done = compacted(replace(transcript, messages=tuple(messages)))
    assert done.archive is not None
    everything = done.archive.to_json() + json.dumps(done.request("anthropic"))
    assert token not in everything
    assert secret not in everything


READER: ModelProfile = profile_for(MODEL)


def test_the_list_ranks_by_use_and_keeps_to_its_budget():
    rng = random.Random(8)
    runs = [drawn(rng, 128) for _ in range(20)]
    used = runs[3]
    messages = [
        Message(
            "tool", (ToolResult("none", (Text("\n".join(f"f{n} {run}" for n, run in enumerate(runs))),)),)
        )
    ]
    messages.append(Message("assistant", (ToolCall("c", "Bash", json.dumps({"command": f"check {used}"})),)))
    source = source_of(Transcript(tuple(messages), "anthropic"))
    spans = [(0, len(source.text))]
    for budget in (0, 60, 150, 400, 5000):
        found = run_list(source, spans, tail=(), budget=budget, reader=READER)
        assert found.tokens <= budget
        assert found.count + found.left_out == len(runs)
        assert not found.count or used in found.text
    assert found.count == len(runs)
    beside = run_list(source, spans, tail=[f"see {used}"], budget=5000, reader=READER)
    assert used not in beside.text
    assert run_list(source, [(0, 10)], tail=(), budget=5000, reader=READER).count == 0


def test_a_mark_says_what_it_stands_for():
    run = drawn(random.Random(1), 128)
    source = source_of(Transcript((Message("user", (Text(f"a {run}\nb {run}\nc {WRAPPED}"),)),), "anthropic"))
    folded = fold_repeats(source, runs=True)
    marks = [match[0] for match in RUN_MARK.finditer(folded.text)]
    assert marks[:2] == [f"{ELIDED}1{ELIDED}hex 128 {run[:6]}..{run[-6:]}{ELIDED}"] * 2
    assert marks[2].startswith(f"{ELIDED}2{ELIDED}base64 {len(WRAPPED)} in 4 lines {WRAPPED[:6]}..")
    assert folded.runs == (run, WRAPPED)


def test_runs_are_the_same_in_pieces_of_any_size(monkeypatch):
    """What is looked at in one go bounds memory, and changes nothing: of entries, and of a document."""
    bodies = [*(f"key {run}" for run in RUNS), WRAPPED, "plain words", drawn(random.Random(3), 90)]
    messages = tuple(Message("user", (Text(body),)) for body in (*bodies, *bodies))
    for form in ("archive", "text"):
        source = source_of(Transcript(messages, form))
        forget()
        whole = run_marks.numbered_runs(source)
        assert whole
        for size in (300, 1):
            forget()
            with monkeypatch.context() as patched:
                patched.setattr(run_marks, "_AT_ONCE", size)
                assert run_marks.numbered_runs(source) == whole
