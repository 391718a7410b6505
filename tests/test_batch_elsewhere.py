"""`snapshot batch` on a Ray cluster and in object stores, all on this machine: the same rows."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from benchmarks.batch import copies
from tests.batch_runs import (
    EXAMPLE,
    MODEL,
    QUIET,
    ROOT,
    RUN,
    batch,
    command,
    killed_at_random,
    lines,
    runs,
    wait_for,
)

__all__ = ["runs"]  # a fixture: pytest finds it here

pytestmark = pytest.mark.batch


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
