"""`snapshot batch`: every input in the rows, errors too; only what is new is done; what it all costs."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.batch import renamed
from snapshot.batch.packages import arrow, parquet
from snapshot.batch.schemas import COLUMNS
from snapshot.commands.batch import fill
from tests.batch_runs import EXAMPLE, MODEL, ROOT, RUN, batch, command, lines, runs, start_of

__all__ = ["runs"]  # a fixture: pytest finds it here

pytestmark = pytest.mark.batch


def test_every_input_is_in_the_rows_and_errors_are_rows(runs):
    inputs = sorted(map(str, runs.iterdir()))
    arguments = (runs, "--do", "inspect", "-m", MODEL, "-o", runs / "out.jsonl")
    told = batch(*arguments)
    assert (told["inputs"], told["made"], told["kept"], told["errors"]) == (30, 30, 0, 3)
    rows = lines(runs / "out.jsonl")
    assert [row["path"] for row in rows] == inputs
    # What it has written there is not read by the next run.
    assert batch(*arguments)["inputs"] == 30
    assert sum(row["error"] is None for row in rows) == 27
    assert {row["error_kind"] for row in rows} == {None, "TranscriptError"}
    assert all(row["messages"] for row in rows if row["error"] is None)


def test_only_what_is_new_is_done(runs, tmp_path):
    output = tmp_path / "out.parquet"
    arguments = (runs, "--do", "convert", "--to", "openai-chat", "-o", output, "--chunk", "4")
    batch(*arguments)
    first = output.read_bytes()
    again = batch(*arguments)
    assert (again["made"], again["kept"]) == (0, 30)
    assert output.read_bytes() == first

    changed = sorted(runs.iterdir())[5]
    changed.write_bytes(renamed(changed.read_bytes(), 777))
    (runs / "run-000003-more.jsonl").write_bytes(renamed(start_of(EXAMPLE, 8), 778))
    told = batch(*arguments)
    assert (told["made"], told["kept"]) == (2, 29)
    sorted(runs.iterdir())[0].unlink()
    told = batch(*arguments)
    assert (told["made"], told["kept"]) == (0, 30)

    # The same as from nothing, and nothing of former runs stays.
    fresh = tmp_path / "fresh.parquet"
    batch(*(fresh if item is output else item for item in arguments))
    assert output.read_bytes() == fresh.read_bytes()
    parts = [sorted(path.name for path in Path(f"{name}.parts").iterdir()) for name in (output, fresh)]
    assert parts[0] == parts[1]

    told = batch(*(arguments[:4]), "text", *arguments[5:])
    assert (told["made"], told["kept"]) == (30, 0)


def test_every_action_in_every_form_of_output(tmp_path):
    settings = {
        "cost": ("-m", f"{MODEL},gpt-5.6-sol"),
        "render": ("-m", MODEL),
        "compact": ("-m", MODEL, "--window", "60000"),
        "inspect": (),
        "replay": ("-m", MODEL, "--policy", "text,ours"),
        "convert": ("--to", "anthropic"),
    }
    for action, more in settings.items():
        output = tmp_path / f"{action}.parquet"
        batch(RUN, EXAMPLE, "--do", action, *more, "-o", output)
        table = parquet().read_table(output)
        assert table.schema.names == [column.name for column in COLUMNS[action]]
        assert set(table["path"].to_pylist()) == {str(RUN), str(EXAMPLE)}
        assert table["error"].null_count == table.num_rows
    for suffix in ("jsonl", "csv"):
        batch(RUN, EXAMPLE, "--do", "replay", *settings["replay"], "-o", tmp_path / f"replay.{suffix}")
    with (tmp_path / "replay.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    whole = parquet().read_table(tmp_path / "replay.parquet").to_pylist()
    assert whole == lines(tmp_path / "replay.jsonl")
    assert written == [
        {name: "" if value is None else str(value) for name, value in row.items()} for row in whole
    ]


def test_pages_are_files_or_a_column(tmp_path):
    batch(RUN, "--do", "render", "-m", MODEL, "-o", tmp_path / "column.parquet")
    arguments = (
        RUN,
        "--do",
        "render",
        "-m",
        MODEL,
        "--pages",
        tmp_path / "pages",
        "-o",
        tmp_path / "files.csv",
    )
    batch(*arguments)
    whole = parquet().read_table(tmp_path / "column.parquet").to_pylist()
    with (tmp_path / "files.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(tmp_path / "pages" / row["file"]).read_bytes() for row in rows] == [row["png"] for row in whole]
    # A page that has gone is made again.
    (tmp_path / "pages" / rows[0]["file"]).unlink()
    assert batch(*arguments)["made"] == 1
    assert (tmp_path / "pages" / rows[0]["file"]).read_bytes() == whole[0]["png"]
    assert batch(*arguments)["kept"] == 1


def test_archives_and_tables(tmp_path):
    talks = [[{"role": "user", "content": f"Question {number}?"}] for number in range(40)]
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number, talk in enumerate(talks):
            archive.writestr(f"deep/{number:03}.json", json.dumps(talk))
        archive.writestr("deep/.hidden", "x")
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        for name in ("run.jsonl", "broken.json"):
            (tmp_path / name).write_bytes(b'[{"role"' if name == "broken.json" else start_of(EXAMPLE, 8))
            archive.add(tmp_path / name, name)
    (tmp_path / "c.zip").write_bytes(b"PK\x03\x04 and no more")
    cells = [json.dumps(talk) for talk in talks]
    parquet().write_table(arrow().table({"talk": [*cells, None]}), tmp_path / "d.parquet", row_group_size=7)
    parquet().write_table(arrow().table({"talk": talks}), tmp_path / "e.parquet")
    with (tmp_path / "f.jsonl").open("w") as file:
        for talk in talks:
            file.write(json.dumps({"id": 1, "talk": talk}) + "\n")
        file.write('{"other": 1}\nno json\n')
    parquet().write_table(arrow().table({"other": [1, 2]}), tmp_path / "g.parquet")
    inputs = [path for path in sorted(tmp_path.iterdir()) if path.suffix != ".json" and path.stem != "run"]
    output = tmp_path / "out.jsonl"
    batch(*inputs, "--column", "talk", "--do", "inspect", "-m", MODEL, "-o", output, "--chunk", "3")
    rows = lines(output)
    good = Counter(
        Path(re.split(r"/deep|/run|/broken|#", row["path"])[0]).name for row in rows if not row["error"]
    )
    bad = Counter(
        Path(re.split(r"/deep|/run|/broken|#", row["path"])[0]).name for row in rows if row["error"]
    )
    assert good == {"a.zip": 40, "b.tar.gz": 1, "d.parquet": 40, "e.parquet": 40, "f.jsonl": 40}
    assert bad == {"b.tar.gz": 1, "c.zip": 1, "d.parquet": 1, "f.jsonl": 2, "g.parquet": 2}
    assert [row["path"] for row in rows] == sorted(row["path"] for row in rows)
    assert {row["messages"] for row in rows if not row["error"] and "b.tar" not in row["path"]} == {1}


def test_the_account_of_costs(tmp_path):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({MODEL: {"input_cost_per_token": 1e-05}}))
    output = tmp_path / "costs.parquet"
    arguments = (RUN, EXAMPLE, "--do", "cost", "-m", f"{MODEL},gpt-5.6-sol", "-o", output)
    done = command(*arguments, "--prices", prices, "--plot", tmp_path / "costs.svg")
    assert done.returncode == 0, done.stderr
    assert "has no price for gpt-5.6-sol" in done.stderr
    assert f"Prices: prices.json of {time.strftime('%Y')}" in done.stdout
    assert "<svg" in (tmp_path / "costs.svg").read_text()
    told = batch(*arguments, "--prices", prices)
    assert told["kept"] == 2

    rows = parquet().read_table(output).to_pylist()
    for group in told["costs"]["groups"]:
        mine = [
            row for row in rows if (row["model"], row["text_class"]) == (group["model"], group["text_class"])
        ]
        assert group["files"] == len(mine)
        for name in ("chars", "text_tokens", "page_tokens", "pages"):
            assert group[name] == sum(row[name] for row in mine)
        if group["model"] == MODEL:
            assert group["usd_text"] == pytest.approx(group["text_tokens"] * 1e-05)
        else:
            assert group["usd_text"] is None
        assert group["saved"][0] == pytest.approx(min(row["saved"] for row in mine), rel=0.03)
        assert list(group["saved"]) == sorted(group["saved"])
    assert [row["path"] for row in told["costs"]["dearest"][:2]] == [str(RUN), str(EXAMPLE)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{nothing}", "--do", "cost"), "no file is there"),
        (("{run}", "--do", "cost", "-m", "no-such-model"), "no-such-model"),
        (("{run}", "--do", "convert"), "needs --to"),
        (("{run}", "--do", "convert", "--to", "zzz"), "needs --to"),
        (("{run}", "--do", "inspect", "--prices", "x"), "is for --do cost"),
        (("{run}", "--do", "cost", "--prices", "{nothing}"), "name a JSON file of prices"),
        (("{run}", "--do", "inspect", "--runner", "127.0.0.1:9"), "nobody answers there"),
        (("{run}", "--do", "inspect", "--runner", "ray://127.0.0.1:9"), "nobody answers there"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, arguments, said):
    given = [item.format(nothing=tmp_path / "nothing.jsonl", run=RUN) for item in arguments]
    done = command(*given, "-o", tmp_path / "out.csv")
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_an_output_that_is_read_is_refused(tmp_path):
    copy = tmp_path / "run.jsonl"
    shutil.copy(RUN, copy)
    done = command(copy, "--do", "inspect", "-o", copy)
    assert done.returncode == 2
    assert copy.read_bytes() == RUN.read_bytes()


def test_the_guides_query_and_its_tables(tmp_path):
    guide = (ROOT / "docs" / "batch.md").read_text(encoding="utf-8")
    query = re.search(r"<!-- run by the tests -->\n```python\n(.*?)```", guide, re.DOTALL)
    assert query
    texts = [RUN.read_text(encoding="utf-8"), EXAMPLE.read_text(encoding="utf-8"), "{"]
    parquet().write_table(
        arrow().table({"id": ["a", "b", "c"], "messages": texts}), tmp_path / "runs.parquet"
    )
    done = subprocess.run(
        [sys.executable, "-c", query[1]],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DO_NOT_TRACK": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rows = parquet().read_table(tmp_path / "costs").to_pylist()
    assert {row["id"] for row in rows if row["text_class"] == "all"} == {"a", "b"}
    assert [row["error_kind"] for row in rows if row["id"] == "c"] == ["TranscriptError"]
    for columns in COLUMNS.values():
        for column in columns:
            assert f"| `{column.name}` | {column.type} | {column.about} |" in guide
    used = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", guide))
    import argparse

    parser = argparse.ArgumentParser()
    fill(parser)
    assert used <= set(parser._option_string_actions)
