"""`snapshot batch`: every input in the rows, errors too; stopped and resumed; the same on a cluster."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from benchmarks.batch import copies, renamed
from snapshot.batch.packages import arrow, parquet
from snapshot.batch.schemas import COLUMNS
from snapshot.commands.batch import fill
from tests.conftest import HERE

pytestmark = pytest.mark.batch

ROOT = HERE.parent
RUN = HERE / "data" / "ytt-start.claude-stream.jsonl"
EXAMPLE = HERE / "data" / "example.claude-stream.jsonl"
MODEL = "claude-opus-4-8"
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}


def command(*arguments, **more):
    """Run the command line; what it prints, as text."""
    return subprocess.run(
        [sys.executable, "-m", "snapshot", "batch", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **QUIET, **more.pop("env", {})},
        capture_output=True,
        text=True,
        timeout=more.pop("timeout", 280),
        **more,
    )


def batch(*arguments, **more):
    """The account of a batch that must come to its end."""
    done = command(*arguments, "--json", **more)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def lines(path):
    """The rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def start_of(run, messages):
    """The first lines of a run: a transcript that takes little time."""
    return b"".join(run.read_bytes().splitlines(keepends=True)[:messages])


@pytest.fixture
def runs(tmp_path):
    """A folder with small transcripts, 3 of 30 broken."""
    small = tmp_path / "small.jsonl"
    small.write_bytes(start_of(EXAMPLE, 8))
    copies(tmp_path / "runs", [small], 30, broken=3)
    return tmp_path / "runs"


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


def test_a_long_transcript_holds_up_nobody(tmp_path):
    """The first input takes far longer than all others; they are done before it is."""
    folder = tmp_path / "runs"
    copies(folder, [EXAMPLE], 40)
    row = RUN.read_bytes().splitlines(keepends=True)
    with (folder / "a-long-one.jsonl").open("wb") as file:
        for number in range(170):
            file.write(renamed(b"".join(row[1:]), number))
    output = tmp_path / "out"
    batch(folder, "--do", "convert", "--to", "anthropic", "-o", output, "--processes", "2", "--chunk", "4")
    ended = {path: path.stat().st_mtime for path in output.glob("part-*.parquet")}
    last = max(ended, key=ended.__getitem__)

    assert set(parquet().read_table(last, columns=["path"])["path"].to_pylist()) == {
        str(folder / "a-long-one.jsonl")
    }


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


def test_a_process_that_is_lost_is_one_line(tmp_path):
    copies(tmp_path / "runs", [RUN], 60)
    output = tmp_path / "out"
    arguments = (tmp_path / "runs", "--do", "cost", "-m", MODEL, "--chunk", "2", "-o", output)
    process = subprocess.Popen(
        [sys.executable, "-m", "snapshot", "batch", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not list(output.glob("part-*")):
        time.sleep(0.05)
    os.kill(next(children_of(process.pid)), signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert "came to an end" in said.splitlines()[-1]
    assert "Traceback" not in said
    told = batch(*arguments)
    assert told["kept"] > 0
    assert told["made"] + told["kept"] == 60


def children_of(parent):
    """The processes that a process has started."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            yield int(path.parent.name)


@pytest.mark.slow
def test_two_thousand_with_twenty_broken(tmp_path):
    small = tmp_path / "small.jsonl"
    small.write_bytes(start_of(EXAMPLE, 8))
    copies(tmp_path / "runs", [small], 2000, broken=20)
    told = batch(
        tmp_path / "runs", "--do", "inspect", "-m", MODEL, "-o", tmp_path / "out.parquet", timeout=900
    )
    assert (told["inputs"], told["errors"]) == (2000, 20)

    table = parquet().read_table(tmp_path / "out.parquet", columns=["path", "error", "messages"])
    assert table.num_rows == len(set(table["path"].to_pylist())) == 2000
    assert table["error"].null_count == 1980
    assert table["messages"].null_count == 20


def killed_at_random(arguments, output, took, times, holds=lambda: True):
    """Start a batch that takes so many seconds and kill it; how often it was not yet done."""
    moments = random.Random(17)
    killed = 0
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-m", "snapshot", "batch", *map(str, arguments), str(output)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(moments.uniform(0.02, 0.6) * took)
        killed += process.poll() is None
        # Half of the times with all its processes, half alone: those that it started then go on for a while.
        if moments.random() < 0.5 and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        assert holds()
    return killed


@pytest.mark.slow
def test_killed_at_any_moment_it_is_resumed_to_the_same_bytes(tmp_path):
    copies(tmp_path / "runs", [EXAMPLE, RUN], 60, broken=5)
    arguments = (tmp_path / "runs", "--do", "cost", "-m", MODEL, "--chunk", "3", "-o")
    start = time.monotonic()
    batch(*arguments, tmp_path / "whole.parquet")
    took = time.monotonic() - start
    output = tmp_path / "killed.parquet"
    whole = (tmp_path / "whole.parquet").read_bytes()
    assert killed_at_random(
        arguments, output, took, 10, lambda: not output.exists() or output.read_bytes() == whole
    )
    told = batch(*arguments, output)
    assert told["inputs"] == told["made"] + told["kept"] == 60
    assert output.read_bytes() == whole
    parts = [Path(f"{tmp_path}/{name}.parquet.parts") for name in ("whole", "killed")]
    contents = [{path.name: path.read_bytes() for path in folder.glob("part-*")} for folder in parts]
    assert contents[0] == contents[1]


@pytest.mark.slow
def test_a_ray_cluster_gives_equal_rows(runs, tmp_path):
    pytest.importorskip("ray")
    ray = Path(sys.executable).with_name("ray")
    port = random.Random(os.getpid()).randrange(20000, 30000)
    head = subprocess.Popen(
        [ray, "start", "--head", "--block", "--num-cpus", "2", "--include-dashboard=false",
         "--node-ip-address=127.0.0.1",
         "--port", str(port), "--ray-client-server-port", str(port + 1),
         "--object-store-memory", "200000000"],
        env={**os.environ, **QUIET, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for address in (port, port + 1):
            wait_for(address, head)
        arguments = (runs, "--do", "cost", "-m", MODEL, "--chunk", "4", "-o")
        alone = batch(*arguments, tmp_path / "alone.parquet")
        for name, address in (("within", f"127.0.0.1:{port}"), ("client", f"ray://127.0.0.1:{port + 1}")):
            cluster = batch(*arguments, tmp_path / f"{name}.parquet", "--runner", address)
            assert cluster["made"] == 30
            assert cluster["costs"]["dearest"] == alone["costs"]["dearest"]
            assert (tmp_path / "alone.parquet").read_bytes() == (tmp_path / f"{name}.parquet").read_bytes()
    finally:
        head.terminate()  # it ends what it started
        head.wait(60)


def wait_for(port, process):
    """Wait until somebody answers at a port of this machine, or the process has ended."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, "Ray has ended"
        time.sleep(0.2)
    raise AssertionError("Ray did not start")


@pytest.fixture(params=["s3", "gs"])
def bucket(request, monkeypatch):
    """Arrow's file system for a bucket `runs` at a server of this machine, and what its URLs begin with."""
    from snapshot.batch.storage import _store, store_of

    _store.cache_clear()
    if request.param == "s3":
        server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
        server.start()
        stop, (host, port) = server.stop, server.get_host_and_port()
        urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
        for name, value in {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        }.items():
            monkeypatch.setenv(name, value)
        pytest.importorskip("boto3").client(
            "s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1"
        ).create_bucket(Bucket="runs")
    else:
        pytest.importorskip("gcp_storage_emulator")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [sys.executable, "-m", "gcp_storage_emulator", "start", "--host", "127.0.0.1",
             "--port", str(port), "--in-memory", "--default-bucket", "runs"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        stop = server.kill
        wait_for(port, server)
        monkeypatch.setenv("CLOUD_STORAGE_EMULATOR_ENDPOINT", f"http://127.0.0.1:{port}")
    try:
        yield store_of(f"{request.param}://runs/")[0], f"{request.param}://runs"
    finally:
        _store.cache_clear()
        stop()
        if request.param == "gs":
            server.wait(60)


def objects(store, below="runs"):
    """What is in a bucket: content by name."""
    from pyarrow.fs import FileSelector

    found = store.get_file_info(FileSelector(below, recursive=True, allow_not_found=True))
    return {
        item.path.removeprefix(f"{below}/"): store.open_input_file(item.path).read()
        for item in found
        if item.is_file and item.size
    }


def test_an_object_store_is_read_like_a_folder(bucket, tmp_path):
    store, url = bucket
    copies(tmp_path / "runs", [EXAMPLE], 12, broken=2)
    for path in (tmp_path / "runs").iterdir():
        with store.open_output_stream(f"runs/deep/{path.name}") as file:
            file.write(path.read_bytes())
    for name, named in (("there", url), ("glob", f"{url}/**/*.jsonl"), ("here", tmp_path / "runs")):
        told = batch(named, "--do", "inspect", "-m", MODEL, "-o", tmp_path / f"{name}.jsonl")
        assert (told["inputs"], told["errors"]) == (12, 2)
    found = [lines(tmp_path / f"{name}.jsonl") for name in ("there", "glob", "here")]
    for rows in found:
        for row in rows:
            row["path"] = Path(row["path"]).name
    assert found[0] == found[1] == found[2]


def test_an_object_store_is_written_like_a_folder(bucket, runs, tmp_path):
    store, url = bucket
    arguments = (runs, "--do", "cost", "-m", MODEL, "--chunk", "4", "-o")
    here = batch(*arguments, tmp_path / "costs.parquet")
    there = batch(*arguments, f"{url}/out/costs.parquet")
    assert (there["made"], there["errors"]) == (30, here["errors"])
    assert there["costs"]["dearest"] == here["costs"]["dearest"]
    local = {
        str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.glob("costs*/*.parquet")
    } | {"costs.parquet": (tmp_path / "costs.parquet").read_bytes()}
    assert objects(store, "runs/out") == local

    # Only what is gone is made again; parts of other settings go, and what is no part stays.
    lost = next(name for name in local if "part-" in name)
    store.delete_file(f"runs/out/{lost}")
    with store.open_output_stream("runs/out/costs.parquet.parts/part-of-mine.txt") as file:
        file.write(b"mine")
    again = batch(*arguments, f"{url}/out/costs.parquet")
    assert again["kept"] + again["made"] == 30
    assert 0 < again["made"] < 30
    assert objects(store, "runs/out") == {**local, "costs.parquet.parts/part-of-mine.txt": b"mine"}
    batch(*arguments[:4], f"{MODEL},gpt-5.6-sol", *arguments[5:], f"{url}/out/costs.parquet")
    assert not set(objects(store, "runs/out")) & (set(local) - {"costs.parquet"})

    pages = ("--do", "render", "-m", MODEL, "--pages", f"{url}/pages", "-o", f"{url}/rendered")
    assert batch(RUN, *pages)["made"] == 1
    drawn = objects(store, "runs/pages")
    assert drawn
    assert all(data.startswith(b"\x89PNG") for data in drawn.values())
    store.delete_file(f"runs/pages/{min(drawn)}")
    assert batch(RUN, *pages)["made"] == 1
    assert objects(store, "runs/pages") == drawn
    assert batch(RUN, *pages)["kept"] == 1

    done = command(runs, "--do", "inspect", "-o", f"{url.replace('runs', 'no-such-bucket')}/out")
    assert done.returncode == 2
    assert "there is no bucket no-such-bucket" in done.stderr.splitlines()[-1]
    # What the batch has written there is no input of the next one.
    others = [name for name in objects(store) if not name.startswith("rendered/")]
    assert batch(url, "--do", "inspect", "-o", f"{url}/rendered")["inputs"] == len(others)


@pytest.mark.slow
def test_killed_at_any_moment_it_is_resumed_in_an_object_store(bucket, tmp_path):
    store, url = bucket
    copies(tmp_path / "runs", [EXAMPLE], 60, broken=5)
    arguments = (tmp_path / "runs", "--do", "cost", "-m", MODEL, "--chunk", "3", "-o")
    start = time.monotonic()
    batch(*arguments, f"{url}/whole.parquet")
    assert killed_at_random(arguments, f"{url}/killed.parquet", time.monotonic() - start, 4)
    told = batch(*arguments, f"{url}/killed.parquet")
    assert told["inputs"] == told["made"] + told["kept"] == 60
    found = objects(store)
    for name in [name for name in found if name.startswith("killed")]:
        assert found.pop(name) == found.pop(name.replace("killed", "whole"))
    assert not found
