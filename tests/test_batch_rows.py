"""The functions of `snapshot.batch`: rows of one transcript, whatever it is, in the columns of the schema."""

from __future__ import annotations

import json
import pickle
import re
import sys
from contextlib import contextmanager
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshot import batch
from snapshot.__main__ import main
from snapshot.batch import prices
from snapshot.batch.batch import _within
from snapshot.batch.folders import folder_of
from snapshot.batch.inputs import Input, _as_regex, chunks_of, inputs_of
from snapshot.batch.schemas import ACTIONS, COLUMNS
from snapshot.errors import OutputError, SnapshotError
from snapshot.models.ids import profile_for
from tests.conftest import HERE, examples

RUN = HERE / "data" / "ytt-start.claude-stream.jsonl"
TALK = [
    {"role": "user", "content": "Where is the pump?"},
    {"role": "assistant", "content": "Behind the wall.", "name": None},
]
MODEL = "claude-opus-4-8"


def rows_of(action, source, models=MODEL, **settings):
    """The rows of an action by its public function."""
    if action == "convert":
        return batch.convert_of(source, settings.pop("to", "openai-chat"), **settings)
    name = {"cost": "costs_of", "render": "pages_of"}.get(action, f"{action}_of")
    return getattr(batch, name)(source, models, **settings)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("form", ["path", "bytes", "messages"])
def test_rows_have_the_columns_of_the_schema(action, form):
    source = {"path": RUN, "bytes": RUN.read_bytes(), "messages": TALK}[form]
    rows = rows_of(action, source)
    kinds = {"string": str, "int64": int, "double": float, "binary": bytes}
    assert rows
    for row in rows:
        assert list(row) == [column.name for column in COLUMNS[action]]
        assert row["error"] is None
        assert row["error_kind"] is None
        assert len(row["sha256"]) == 64
        for column in COLUMNS[action]:
            assert row[column.name] is None or type(row[column.name]) is kinds[column.type], column


@pytest.mark.parametrize("action", ACTIONS)
def test_path_and_bytes_give_the_same_rows(action):
    assert rows_of(action, str(RUN), path="x") == rows_of(action, RUN.read_bytes(), path="x")


@pytest.mark.parametrize("action", ACTIONS)
@settings(max_examples=examples(20))
@given(data=st.binary(max_size=80) | st.text(max_size=60).map(lambda text: json.dumps([text]).encode()))
def test_no_bytes_raise(action, data):
    for row in rows_of(action, data):
        assert (row["error"] is None) == (row["error_kind"] is None)
        assert "\n" not in (row["error"] or "")


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (b"", "TranscriptError"),
        (b'[{"role": "user", "content": "cut', "TranscriptError"),
        ("/nowhere/at/all.jsonl", "FileNotFoundError"),
        ("a\0b", "ValueError"),
        (str(HERE), "IsADirectoryError"),
        ([{"role": "user", "content": {1, 2}}], "TypeError"),
        ([{"no": "message"}], "TranscriptError"),
    ],
)
def test_an_error_is_one_row(action, source, kind):
    [row] = rows_of(action, source, path="the input")
    assert row["path"] == "the input"
    assert row["error_kind"] == kind
    assert row["error"]
    assert "\n" not in row["error"]
    assert "the input" not in row["error"]  # it has a column of its own


def test_a_model_that_is_not_known_is_a_row_of_its_own():
    rows = batch.inspect_of(RUN, ["no-such-model", MODEL])
    assert [(row["model"], row["error_kind"]) for row in rows] == [
        ("no-such-model", "LayoutError"),
        (MODEL, None),
    ]


def test_without_a_model_it_is_the_transcripts_own():
    assert {row["model"] for row in batch.costs_of(RUN)} == {"claude-opus-5"}
    assert {row["model"] for row in batch.costs_of(TALK)} == {MODEL}


@pytest.mark.parametrize(
    "name", ["costs_of", "pages_of", "compact_of", "inspect_of", "replay_of", "convert_of"]
)
def test_functions_can_be_pickled(name):
    function = getattr(batch, name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_sums_of_classes_are_all():
    rows = batch.costs_of(RUN, MODEL)
    assert rows[0]["text_class"] == "all"
    for name in ("chars", "text_tokens", "page_tokens", "pages"):
        assert rows[0][name] == sum(row[name] for row in rows[1:])


def test_usd_is_tokens_times_the_price():
    price = profile_for(MODEL).price
    assert price is not None
    for row in batch.costs_of(RUN, MODEL):
        assert row["usd_text"] == pytest.approx(float(row["text_tokens"] * price.input / 1_000_000))
        assert row["usd_saved"] == pytest.approx(row["usd_text"] - row["usd_pages"])
    for row in batch.costs_of(RUN, MODEL, prices={MODEL: ("7", None, None, None)}, price_from="ours"):
        assert row["usd_text"] == pytest.approx(row["text_tokens"] * 7e-6)
        assert row["price_from"] == "ours"
    assert {row["usd_text"] for row in batch.costs_of(RUN, MODEL, prices={})} == {None}


def test_pages_partition_the_source_and_go_into_files(tmp_path):
    rows = batch.pages_of(RUN, MODEL)
    assert [row["start"] for row in rows[1:]] == [row["stop"] for row in rows[:-1]]
    filed = batch.pages_of(RUN, MODEL, pages=str(tmp_path))
    for row, other in zip(rows, filed, strict=True):
        assert row["png"].startswith(b"\x89PNG")
        assert other["png"] is None
        assert (tmp_path / other["file"]).read_bytes() == row["png"]


def test_strings_can_be_written_as_utf_8():
    [row] = batch.convert_of([{"role": "user", "content": "lone \ud800"}], "text", path="a\udcffb")
    row["path"].encode("utf-8")


def test_prices_are_read_exactly(tmp_path):
    file = tmp_path / "prices.json"
    file.write_text(
        '{"sample_spec": {"input_cost_per_token": 0.0}, "m": {"input_cost_per_token": 5e-06, '
        '"cache_read_input_token_cost": 5e-07, "output_cost_per_token": 2.5e-05}, "x": "no object"}'
    )
    table = batch.read_prices(file)
    assert dict(table.prices) == {"m": ("5", None, "0.5", "25")}
    assert Decimal(table.prices["m"][2] or 0) == Decimal("0.5")
    assert table.name.startswith("prices.json of 20")
    assert prices.price_in(table.prices, "openrouter/m") == table.prices["m"]
    assert prices.price_in(table.prices, "n") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"m": {"input_cost_per_token": "five"}}'])
def test_no_prices_are_one_line(tmp_path, text):
    file = tmp_path / "prices.json"
    file.write_text(text)
    with pytest.raises(SnapshotError, match=r"prices\.json"):
        batch.read_prices(file)


@pytest.mark.skipif(find_spec("litellm") is None, reason="LiteLLM is not installed")
def test_litellms_map_is_read_as_a_file_with_its_date():
    before = set(sys.modules)
    table = batch.litellm_prices()
    assert re.fullmatch(r"litellm [\d.\w]+, installed 20\d\d-\d\d-\d\d", table.name)
    assert prices.price_in(table.prices, MODEL) == ("5", "6.25", "0.5", "25")
    assert "litellm" not in set(sys.modules) - before


paths = st.lists(st.text("abcdefgh/", min_size=1, max_size=12), unique=True, max_size=120)


@given(paths, st.integers(1, 20), st.data())
def test_chunks_partition_the_inputs_and_a_new_one_changes_few(names, size, data):
    inputs = [Input(name, data.draw(st.sampled_from([1, 40 << 20])), "file", name) for name in sorted(names)]
    chunks = list(chunks_of(inputs, size))
    assert [item for chunk in chunks for item in chunk.inputs] == inputs
    assert all(len(chunk.inputs) <= 2 * size for chunk in chunks)
    assert all(len(chunk.inputs) == 1 or sum(i.size for i in chunk.inputs) <= 32 << 20 for chunk in chunks)


def test_a_new_input_changes_its_own_chunk():
    names = [f"run-{number:05}" for number in range(2000)]
    before = {chunk.name("x") for chunk in chunks_of(Input(name, 1, "file", name) for name in names)}
    names = sorted([*names, "run-01000-b"])
    after = {chunk.name("x") for chunk in chunks_of(Input(name, 1, "file", name) for name in names)}
    assert len(after - before) <= 3  # its own, and what lies between it and the next end that a name makes
    assert len(before) > 60


def test_inputs_are_sorted_and_each_once(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "deep/c.jsonl", ".hidden", "deep/.git/x"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "[1]*.jsonl").write_bytes(b"x")  # a name, not a glob
    found = inputs_of([str(tmp_path / "b.jsonl"), str(tmp_path), str(tmp_path / "[1]*.jsonl")])
    names = ["[1]*.jsonl", "a.jsonl", "b.jsonl", "deep/c.jsonl", "gone.jsonl"]
    assert [str(Path(item.path).relative_to(tmp_path)) for item in found] == names


@pytest.mark.parametrize(
    ("path", "within"),
    [("/a/out.csv", True), ("/a/out.csv.parts/part-1", True), ("/a/out.csv2", False), ("/a", False),
     ("/a/./out.csv", True), ("s3://b/out/part-1", True), ("s3://b/outer/part-1", False)],
)  # fmt: skip
def test_what_a_batch_writes_is_told_from_what_it_reads(path, within):
    assert _within(path, ["/a/out.csv", "/a/out.csv.parts", "s3://b/out", None]) == within


@pytest.mark.parametrize(
    ("glob", "takes", "leaves"),
    [
        ("b/**/*.jsonl", ["b/x.jsonl", "b/c/d/x.jsonl"], ["b/x.json", "bb/x.jsonl"]),
        ("b/*.jsonl", ["b/x.jsonl"], ["b/c/x.jsonl"]),
        ("b/run-?.[jx]*", ["b/run-1.jsonl", "b/run-2.x"], ["b/run-10.jsonl", "b/run-1.csv"]),
        ("b/[!a]+(1).txt", ["b/b+(1).txt"], ["b/a+(1).txt", "b/bb(1).txt"]),
        ("b/c/**", ["b/c/x", "b/c/d/x"], ["b/cd"]),
    ],
)
def test_a_glob_in_googles_store_takes_what_it_says(glob, takes, leaves):
    pattern = re.compile(_as_regex(glob), re.DOTALL)
    assert [path for path in (*takes, *leaves) if pattern.fullmatch(path)] == takes


@pytest.mark.parametrize(
    ("where", "said"),
    [("hf://x/y", "writes to local paths, s3:// and gs://"), ("s3://", "names no bucket")],
)
def test_a_place_that_is_not_written_to_is_one_line(where, said):
    pytest.importorskip("pyarrow")
    with pytest.raises(SnapshotError, match=re.escape(said)):
        folder_of(where)


def test_a_name_with_nothing_there_is_one_line(tmp_path):
    with pytest.raises(SnapshotError, match="no file is there"):
        inputs_of([str(tmp_path / "nothing.jsonl")])


def test_a_part_that_nobody_waits_for_is_not_written(tmp_path):
    pytest.importorskip("pyarrow")
    from snapshot.batch.parts import Job, fingerprinted, make_part

    job = fingerprinted(Job("inspect", (MODEL,), {}, folder=str(tmp_path)))
    inputs = [Input(str(RUN), 1, "file", str(RUN))]
    assert make_part(job, "part-1.parquet", inputs, (), lambda: False)["failed"]
    assert not list(tmp_path.iterdir())
    assert make_part(job, "part-1.parquet", inputs)["made"] == 1
    assert make_part(job, "part-1.parquet", inputs)["kept"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["part-1.parquet"]


@contextmanager
def room(size):
    """Within the block no file of this process may have more bytes, as where a disk is full."""
    resource = pytest.importorskip("resource")
    had = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, had[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, had)


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("action", ["convert", "render"])
def test_a_full_disk_leaves_parts_and_pages_whole_or_not_there(action, tmp_path):
    """Whatever has room: one line says why it stopped, and the next run has the bytes of a whole one."""
    pytest.importorskip("pyarrow")
    from snapshot.batch.parts import Job, fingerprinted, make_part

    inputs = [Input(str(RUN), 1, "file", str(RUN))]
    made = {}
    for size in (0, 1_000, 10_000, None):
        folder = tmp_path / str(size)
        folder.mkdir()
        settings = {"to": "openai-chat"} if action == "convert" else {"pages": str(folder / "pages")}
        job = fingerprinted(Job(action, (MODEL,), settings, folder=str(folder)))
        if size is not None:
            with room(size):
                told = make_part(job, "part-1.parquet", inputs)
            assert told["failed"].endswith(": cannot be written to (File too large)")
            assert told["failed"].startswith(str(folder))
            assert all(name.endswith(".png") for name in files_in(folder))
            assert all(len(data) <= size for data in files_in(folder).values())
        told = make_part(job, "part-1.parquet", inputs)
        assert (told["failed"], told["errors"]) == ("", 0)
        made[size] = {name: data for name, data in files_in(folder).items() if name.endswith(".png")}
        assert (folder / "part-1.parquet").is_file()
    assert all(pages == made[None] for pages in made.values())


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl", "rows.csv"])
def test_a_full_disk_leaves_the_former_file_of_rows(name, tmp_path):
    pytest.importorskip("pyarrow")
    from snapshot.batch.output import assemble
    from snapshot.batch.parts import Job, fingerprinted, make_part

    parts, beside = (folder_of(str(tmp_path / place)) for place in ("parts", "out"))
    (tmp_path / "parts").mkdir()
    (tmp_path / "out").mkdir()
    output = tmp_path / "out" / name
    job = fingerprinted(Job("inspect", (MODEL,), {}, folder=str(parts)))
    assert not make_part(job, "part-1.parquet", [Input(str(RUN), 1, "file", str(RUN))])["failed"]
    output.write_bytes(b"former")
    for size in (0, 100):
        with pytest.raises(OutputError, match=rf"{name}: cannot be written to \(File too large\)$"):  # noqa: SIM117
            with room(size):
                assemble(job.action, parts, ["part-1.parquet"], beside, name)
        assert files_in(tmp_path / "out") == {name: b"former"}
    assemble(job.action, parts, ["part-1.parquet"], beside, name)
    assert len(output.read_bytes()) > 100


def test_without_daft_one_line_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "daft", None)
    output = tmp_path / "out.parquet"
    monkeypatch.setattr(sys, "argv", ["snapshot", "batch", str(RUN), "--do", "cost", "-o", str(output)])
    assert main() == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "snapshot-pages[batch]" in line
    assert not list(tmp_path.iterdir())
