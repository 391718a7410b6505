"""The manifest: written as ever, typed and bounded when it is read; somebody else's folder does no harm."""

from __future__ import annotations

import copy
import io
import json
import os
import shutil
import struct
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema.validators
import numpy as np
import pytest
from PIL import Image

from snapshot._resources import locate
from snapshot.errors import PageError
from snapshot.pages.folder import open_folder
from snapshot.pages.manifest import Manifest, load_manifest
from snapshot.source import marks
from tests.test_cli import run

TEXT = "def f(x):\n    return x ⟦ ↵ \n" * 8 + "é日本\n"
DROPPED = object()
HOSTILE = [None, True, -1, 2**63, 10**400, 1.5, "", "../../etc/passwd", "\x1b[2J", [], [[1, 2]], {}, "\ud800"]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("manifest")
    (folder / "a.txt").write_text(TEXT, encoding="utf-8")
    run("render", folder / "a.txt", "-m", "claude-haiku-4-5", "-o", folder / "pages")
    return folder / "pages"


@pytest.fixture
def pages(rendered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rendered, tmp_path / "pages"))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if new is DROPPED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return value


def refusal(value: Any) -> str:
    """Why a manifest is not read, "" where it is."""
    try:
        Manifest.from_json(json.dumps(value).encode())
    except PageError as error:
        return str(error)
    return ""


def test_it_comes_back_to_the_byte(rendered):
    data = (rendered / "manifest.json").read_bytes()
    assert Manifest.from_json(data).to_json() == data
    odd = json.loads(data)
    odd["layout"]["font"] = "caf\udce9.ttf"  # a path whose bytes are no UTF-8
    manifest = Manifest.from_json(json.dumps(odd).encode())
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_what_is_written_keeps_the_schema_and_what_breaks_it_is_refused(rendered):
    """Every value in turn is replaced by hostile ones: what the reader takes, the schema takes as well."""
    schema = json.loads(locate("pages/manifest.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    good = json.loads((rendered / "manifest.json").read_bytes())
    validator.validate(good)
    refused = 0
    for path in places(good):
        for new in (*HOSTILE, DROPPED) if path else HOSTILE:
            value = changed(good, path, new)
            if problem := refusal(value):
                assert len(problem.splitlines()) == 1
                refused += 1
            else:  # wider in one way only: what old versions did not write may be absent
                assert new in (DROPPED, {}) or validator.is_valid(value), (path, new)
    assert refused > 500


def test_hostile_values_are_one_line_of_every_command(pages):
    good = json.loads((pages / "manifest.json").read_bytes())
    for path in places(good):
        for new in ("../../etc/passwd\x1b[2J", -1, [[1]], DROPPED):
            if not path:
                continue
            (pages / "manifest.json").write_text(json.dumps(changed(good, path, new)), encoding="utf-8")
            done = run("read", pages, "--check", check=None)
            assert done.returncode in (0, 1, 2), (path, new)
            assert len(done.stderr.splitlines()) <= 1
            assert "\x1b" not in done.stderr + done.stdout
            assert "root:" not in done.stderr + done.stdout


def test_no_font_or_face_is_opened_because_a_manifest_says_so(pages, tmp_path):
    good = json.loads((pages / "manifest.json").read_bytes())
    (tmp_path / "mine.toml").write_bytes((locate("fonts") / f"{good['layout']['face']}.toml").read_bytes())
    font = str(tmp_path / "some.ttf")
    for key, value in (
        ("face", str(tmp_path / "mine")),
        ("font", font),
        ("helpers", [str(tmp_path / "mine")]),
    ):
        (pages / "manifest.json").write_text(json.dumps(changed(good, ("layout", key), value)))
        for command in ("read", "verify"):
            assert run(command, pages, check=1).stderr.count("\n") == 1, (key, command)
    (pages / "manifest.json").write_text(json.dumps(changed(good, ("layout", "font"), font)))
    assert "give it as `--font`" in run("read", pages, check=1).stderr
    (pages / "manifest.json").write_text(json.dumps(good))
    assert "leave out `--font`" in run("read", pages, "--font", font, check=1).stderr


def test_a_users_font_is_named_again_to_read(tmp_path):
    from snapshot.raster.face import load_face

    font = tmp_path / "own.ttf"
    font.write_bytes(load_face("fira-9x16").path.read_bytes())
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    run("render", tmp_path / "a.txt", "-m", "gpt-5.5", "--font", font, "-o", tmp_path / "pages")
    assert "`--font`" in run("read", tmp_path / "pages", check=1).stderr
    assert run("read", tmp_path / "pages", "--font", font).stdout == TEXT
    assert "exactly" in run("read", tmp_path / "pages", "--check", "--font", font).stdout
    assert run("verify", tmp_path / "pages", "--font", font).returncode == 0


# --- pages


def png(width: int, height: int, depth: int = 8, raw: bytes = b"") -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    "what", ["wide", "high", "no pixels", "cut", "empty", "text", "folder", "link", "pipe"]
)
def test_a_page_that_is_none_is_one_line(pages, what):
    entry = load_manifest(pages).pages[0]
    path = pages / entry.file
    data = path.read_bytes()
    contents = {
        "wide": png(100_000, 100_000),
        "high": png(entry.width, 100_000, 1, bytes(1_000_000)),
        "no pixels": png(0, 0),
        "cut": data[: len(data) // 2],
        "empty": b"",
        "text": b"GIF89a" + data,
    }
    path.unlink()
    if what in contents:
        path.write_bytes(contents[what])
    elif what == "folder":
        path.mkdir()
    elif what == "link":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    for command in (["read", pages], ["read", pages, "--check"], ["read", pages, "--json"]):
        done = run(*command, check=1)
        assert (done.stderr + done.stdout if "--json" not in command else done.stderr).count("\n") == 1
    assert run("verify", pages, check=1).stdout.count("FAIL")


DIGITS = marks.DIGITS


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (DIGITS[3] + DIGITS[0] * 9, "more than 16,777,216 characters"),
        (DIGITS[1] + DIGITS[0] * 12, "more than 16,777,216 characters"),
        (DIGITS[9] * 300, "more than 16,777,216 characters"),
        (f"{marks.OPEN}FFFFFFFF{marks.CLOSE}", "a character that there is not"),
        (f"{marks.OPEN}110000{marks.CLOSE}", "a character that there is not"),
        (f"{marks.OPEN}{'F' * 300}{marks.CLOSE}", "a character that there is not"),
    ],
)
def test_a_page_drawn_by_hand_does_not_unpack_without_bound(pages, said, problem):
    manifest = json.loads((pages / "manifest.json").read_bytes())
    opened = open_folder(pages, load_manifest(pages))
    atlas, layout = opened.atlas, opened.layout
    width, height = layout.cell
    cells = [int(atlas.glyphs[ord(char)]) for char in said] + [atlas.end]
    rows = -(-len(cells) // layout.columns)
    cells += [atlas.pad] * (rows * layout.columns - len(cells))
    grey = np.full((rows * height, layout.width), 255, np.uint8)
    for place, glyph in enumerate(cells):
        y, x = divmod(place, layout.columns)
        ink = atlas.ink[glyph] * (255 // (atlas.face.levels - 1))
        grey[y * height : (y + 1) * height, x * width : (x + 1) * width] = 255 - ink
    out = io.BytesIO()
    Image.fromarray(grey).save(out, "PNG")
    entry = manifest["pages"][0]
    entry["sha256"] = sha256(out.getvalue()).hexdigest()
    (pages / entry["file"]).write_bytes(out.getvalue())
    (pages / "manifest.json").write_text(json.dumps(manifest))
    assert problem in run("read", pages, check=1).stderr
    assert problem in run("read", pages, "--check", check=1).stdout
