"""The command line as a person and as a script meet it, and the folder it writes."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jsonschema
import pytest
from PIL import Image

from snapshot.__main__ import main
from snapshot._resources import locate
from snapshot.commands import COMMANDS
from snapshot.pages.layout import layout_names
from tests.conftest import HERE

EXAMPLE = HERE / "data" / "example.claude-stream.jsonl"
ROOT = HERE.parent


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str | Path, stdin: bytes = b"", check: int | None = 0) -> Result:
    """The command, in this process but with standard streams of its own."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["snapshot", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        try:
            code = main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out.flush()
        err.flush()
    texts = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
    result = Result(code, *texts)
    assert check is None or result.returncode == check, result.stderr
    return result


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rendered") / "pages"
    run("render", EXAMPLE, "-m", "claude-opus-4-8", "-o", folder)
    return folder


@pytest.fixture
def pages(rendered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rendered, tmp_path / "pages"))


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


# --- render


def test_render_says_what_was_made_and_what_comes_next(tmp_path):
    done = run("render", EXAMPLE, "-m", "claude-opus-4-8", "-o", tmp_path / "out")
    assert done.stdout.count("\n") == 1
    assert "% saved" in done.stdout
    assert f"snapshot read {tmp_path / 'out'} --check" in done.stdout
    assert run("read", tmp_path / "out", "--check").stdout.endswith(" characters\n")


def test_the_manifest_keeps_its_schema_and_tells_the_truth(rendered):
    found = manifest(rendered)
    jsonschema.validate(found, json.loads((locate("pages/manifest.schema.json")).read_text(encoding="utf-8")))
    assert [entry["number"] for entry in found["pages"]] == list(range(1, len(found["pages"]) + 1))
    assert found["totals"]["tokens"] == sum(entry["tokens"] for entry in found["pages"])
    assert found["source"]["chars"] == found["pages"][-1]["stop"]
    for entry in found["pages"]:
        with Image.open(rendered / entry["file"]) as image:
            assert image.size == (entry["width"], entry["height"])
    assert {"manifest.json", found["source"]["file"], *(entry["file"] for entry in found["pages"])} == set(
        listing(rendered)
    )
    if os.name == "posix":
        assert {path.stat().st_mode & 0o077 for path in rendered.iterdir()} == {0}


def test_json_is_one_object(tmp_path):
    done = run("render", EXAMPLE, "-m", "gemini-3-pro", "-o", tmp_path / "out", "--json")
    assert json.loads(done.stdout)["totals"]["pages"] == len(manifest(tmp_path / "out")["pages"])
    assert json.loads(run("read", tmp_path / "out", "--json").stdout)["pages"][0]["text"].startswith("⁋")
    assert json.loads(run("read", tmp_path / "out", "--check", "--json").stdout)["problems"] == []
    assert len(json.loads(run("layouts", "--json").stdout)["layouts"]) == len(list(layout_names()))


def test_standard_input(tmp_path):
    text = "# Notes\n\nNothing but prose, with a table:\n\n| a | b |\n"
    run("render", "-", "-m", "gemini-3-pro", "-o", tmp_path / "out", stdin=text.encode())
    assert run("read", tmp_path / "out").stdout == text


def test_the_transcript_names_the_model(tmp_path):
    assert "for claude-opus-4-8" in run("render", EXAMPLE, "-o", tmp_path / "out").stdout


def test_a_text_that_is_cheaper_as_text_is_told_so(tmp_path):
    assert "send the text" in run("render", "-", "-o", tmp_path / "out", stdin=b"hello").stdout


def test_a_former_run_is_replaced_whole(pages):
    before = listing(pages)
    run("render", "-", "-m", "gpt-5.5", "-o", pages, stdin=b"something else\n")
    after = listing(pages)
    assert run("read", pages).stdout == "something else\n"
    assert set(before) & set(after) == {"manifest.json"}


def test_unchanged_pages_are_not_written_again(pages):
    stamps = {path.name: path.stat().st_mtime_ns for path in pages.glob("*.png")}
    run("render", EXAMPLE, "-m", "claude-opus-4-8", "-o", pages)
    assert {path.name: path.stat().st_mtime_ns for path in pages.glob("*.png")} == stamps


@pytest.mark.parametrize(
    "name", ["notes.md", "page-1.png", ".hidden", "page-0001-abc.png", "manifest.json.bak"]
)
def test_a_folder_with_foreign_files_is_refused(pages, name):
    (pages / name).write_text("mine", encoding="utf-8")
    before = listing(pages)
    done = run("render", "-", "-m", "gpt-5.5", "-o", pages, stdin=b"text", check=2)
    assert name in done.stderr
    assert listing(pages) == before


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert "is a file" in run("render", "-", "-o", tmp_path / "out", stdin=b"text", check=2).stderr
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("at", range(9))
def test_a_crash_at_any_moment_leaves_a_whole_run(pages, monkeypatch, at):
    """Whichever write is the last: the folder shows the old run or the new one, never a mixture."""
    before = run("read", pages).stdout
    real = Path.replace
    writes = 0

    def dies(self: Path, target: Path) -> Path:
        nonlocal writes
        if writes == at:
            raise KeyboardInterrupt
        writes += 1
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dies)
        other = HERE / "cases" / "006-indentation" / "input.json"
        code = run("render", other, "-m", "gpt-5.5", "-o", pages, check=None).returncode
    after = run("read", pages).stdout
    assert run("read", pages, "--check").returncode == 0
    assert (after == before) == (code == 130)
    # What the killed run left does not stand in the way of the next.
    run("render", EXAMPLE, "-m", "claude-opus-4-8", "-o", pages)
    assert run("read", pages).stdout == before
    assert not list(pages.glob(".*"))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["render", "no-such-file.jsonl"], "no-such-file.jsonl"),
        (["render", str(HERE)], str(HERE)),
        (["render", str(EXAMPLE), "-m", "gpt-99"], "no layout is known for model 'gpt-99'"),
        (["render", str(EXAMPLE), "-m", "gpt-oss-120b"], "cannot see images"),
        (["render", str(EXAMPLE), "--layout", "claude-hi"], "did you mean claude-high"),
        (["render", str(EXAMPLE), "--from", "word"], "word"),
        (["render", str(EXAMPLE), "--font", "none.ttf"], "none.ttf"),
        (["render", str(EXAMPLE), "--threads", "0"], "--threads"),
        (["read", "no-such-folder"], "no such folder; name a folder that `snapshot render` wrote"),
        (["read", str(HERE / "conftest.py")], "is a file; name a folder that `snapshot render` wrote"),
        (["verify", "https://example.com/pages"], "is an address, and nothing is fetched"),
        (["inspect", "https://example.com/session.jsonl"], "is an address, and nothing is fetched"),
        (["layouts", "gpt-99"], "gpt-99"),
        (["frobnicate"], "frobnicate"),
        (["rendr"], "did you mean render?"),
        (["render", str(EXAMPLE), "--windw", "5"], "there is no option --windw"),
        (["compact", str(EXAMPLE), "--windw", "5"], "did you mean --window?"),
        (["render", str(EXAMPLE), "more"], "'more' is one argument too many"),
        (["cost", str(EXAMPLE), "--by", "models"], "did you mean model?"),
        (["session"], "name a command: list, show"),
        ([], "usage"),
    ],
)
def test_bad_input_gets_one_clear_line(tmp_path, arguments, problem):
    output = ["-o", str(tmp_path / "out")] if arguments[:1] == ["render"] else []
    done = run(*arguments, *output, stdin=b"", check=None)
    assert done.returncode == 2
    assert problem in done.stderr + done.stdout
    assert done.stderr.count("\n") == bool(arguments)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"  \n", b"\xff\xfe", b'[{"role": "user", "content": "cut of'])
def test_unreadable_input_leaves_nothing_behind(tmp_path, content):
    path = tmp_path / "input.json"
    path.write_bytes(content)
    done = run("render", path, "-o", tmp_path / "out", check=2)
    assert done.stderr.startswith("snapshot: ")
    assert not (tmp_path / "out").exists()


# --- read


def test_read_prints_lone_surrogates_as_valid_utf8(tmp_path):
    run(
        "render",
        HERE / "cases" / "003-emoji-at-the-cut" / "input.json",
        "-m",
        "gpt-5.5",
        "-o",
        tmp_path / "out",
    )
    done = run("read", tmp_path / "out")
    assert "cut:\ufffd\n" in done.stdout
    assert "1 lone surrogate" in done.stderr
    assert "the page reads back exactly" in run("read", tmp_path / "out", "--check").stdout
    for path in (tmp_path / "out").glob("*.[tj]*"):
        assert "\ud83d" not in path.read_bytes().decode("utf-8")
        assert b'\\ud83d"' not in path.read_bytes()


def test_a_changed_pixel_is_found(pages):
    path = sorted(pages.glob("*.png"))[0]
    with Image.open(path) as image:
        changed = image.convert("L")
    changed.putpixel((40, 40), 85 if changed.getpixel((40, 40)) != 85 else 170)
    changed.save(path)
    done = run("read", pages, "--check", check=1)
    assert path.name in done.stdout
    assert "row 3, column 6: no glyph" in done.stdout


def test_exchanged_pages_are_found(tmp_path):
    words = " ".join(map(str, range(12_000))).encode()  # no two pages alike
    run("render", "-", "-m", "claude-opus-4-8", "-o", tmp_path / "other", stdin=words)
    other = tmp_path / "other"
    first, second = sorted(other.glob("*.png"))[:2]
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    assert "the file is not the one that was rendered" in run("read", other, "--check", check=1).stdout


def test_a_resampled_page_is_refused(pages):
    path = sorted(pages.glob("*.png"))[0]
    with Image.open(path) as image:
        small = image.convert("L").resize((image.width * 7 // 10, image.height * 7 // 10))
    small.save(path)
    assert "pixels wide" in run("read", pages, "--check", check=1).stdout
    small.resize((1960, 1764)).save(path)
    assert "resampled" in run("read", pages, "--check", check=1).stdout


@pytest.mark.parametrize("damage", ["manifest", "source", "page", "schema", "face"])
def test_damage_is_one_line(pages, damage):
    found = manifest(pages)
    if damage == "manifest":
        (pages / "manifest.json").write_text("{", encoding="utf-8")
    elif damage == "source":
        (pages / found["source"]["file"]).write_text("other", encoding="utf-8")
    elif damage == "page":
        (pages / found["pages"][0]["file"]).unlink()
    else:
        found["schema"] = found["schema"] if damage == "face" else "snapshot-pages/manifest/99"
        found["layout"]["face_sha256"] = "0" * 64
        (pages / "manifest.json").write_text(json.dumps(found), encoding="utf-8")
    done = run("read", pages, "--check", check=1)
    assert (done.stdout + done.stderr).count("\n") == 1


# --- layouts and the rest


def test_layouts_lists_and_explains():
    assert len(run("layouts").stdout.splitlines()) == len(list(layout_names())) + 1
    one = run("layouts", "us.anthropic.claude-opus-4-8").stdout
    for fact in (
        "1400 × 1764 px",
        "17,150 a page",
        "3,150 a page",
        "rows        of 175 cells; the longest read: 172 (claude-opus-5), 86 (claude-opus-4-8)",
        "resized     no",
        "as of",
    ):
        assert fact in one
    assert run("layouts", "gemini-3/dense").stdout.startswith("gemini-3/dense: ")


def test_layouts_know_gateways_and_a_users_own_files(tmp_path):
    routed = run("layouts", "us.anthropic.claude-opus-4-8").stdout
    assert "gateway     bedrock" in routed
    assert "$5.5 in" in routed
    carried = json.loads(run("layouts", "claude-opus-4-8", "--gateway", "copilot", "--json").stdout)[
        "layouts"
    ]
    assert (carried[0]["window"], carried[0]["gateway"], carried[0]["price"]["input"]) == (
        200_000,
        "copilot",
        5,
    )
    (tmp_path / "mine.toml").write_text(
        'provider="x"\nas_of=2026-01-01\nsources=["s"]\n[[readers]]\nextends="gemini-3"\nname="house"\n'
        'models=["house-1"]\nwindow=77000',
        encoding="utf-8",
    )
    for arguments in (("--layouts", tmp_path, "layouts"), ("layouts", "--layouts", tmp_path)):
        assert "window      77,000" in run(*arguments, "house-1").stdout
    assert "no layout" in run("layouts", "house-1", check=2).stderr
    (tmp_path / "mine.toml").write_text("[[readers]]", encoding="utf-8")
    assert "mine.toml: provider is missing" in run("layouts", "--layouts", tmp_path, check=2).stderr


def test_a_broken_pipe_is_quiet(tmp_path):
    (tmp_path / "in.txt").write_bytes(b"line\n" * 200_000)
    run("render", tmp_path / "in.txt", "-m", "gemini-3-pro", "-o", tmp_path / "out")
    process = subprocess.Popen(
        [sys.executable, "-m", "snapshot", "read", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.parametrize("entry", [["-m", "snapshot"], ["cli.py"]])
def test_both_doors_open(entry):
    done = subprocess.run(
        [sys.executable, *entry, "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("snapshot 0.")


# What neither `import snapshot` nor `--help` may import: heavy packages, what only a command needs, and any
# of the package's own rooms but the list of commands.
HEAVY = {"numpy", "numba", "freetype", "PIL", "deflate", "wcwidth", "uharfbuzz", "msgspec"}
OF_COMMANDS = {
    "dataclasses",
    "inspect",
    "json",
    "sqlite3",
    "csv",
    "decimal",
    "tomllib",
    "hashlib",
    "tempfile",
    "asyncio",
}
OWN = {
    "snapshot",
    "snapshot.__main__",
    "snapshot._lazy",
    "snapshot._resources",
    "snapshot._version",
    "snapshot.commands",
    "snapshot.commands._console",
    "snapshot.errors",
}


@pytest.mark.parametrize(
    "code",
    ["import snapshot", "import snapshot.__main__ as m, sys; sys.argv = ['snapshot', '--help']; m.main()"],
)
def test_import_and_help_load_nothing_heavy(code):
    program = (
        f"import sys\nbefore = set(sys.modules)\ntry:\n    exec({code!r})\nexcept SystemExit: pass\n"
        f"loaded = set(sys.modules) - before\n"
        f"wrong = loaded & {HEAVY | OF_COMMANDS!r}\n"
        f"wrong |= {{name for name in loaded if name.split('.')[0] == 'snapshot'}} - {OWN!r}\n"
        "sys.exit(f'loaded {sorted(wrong)}' if wrong else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_command_is_listed_and_explains_itself():
    listed = run("--help").stdout
    for name, command in COMMANDS.items():
        assert f"\n    {name} " in listed
        assert command.about.split()[0] in listed
        told = run(name, "--help").stdout
        assert f"usage: snapshot {name} " in told
        assert "example" in told
        assert "--layouts DIR" in told


def test_a_small_job_does_without_numba():
    program = (
        "import sys, snapshot\n"
        "text = open(sys.argv[1], encoding='utf-8').read()\n"
        "assert len(list(snapshot.render(text, model='claude-opus-4-8'))) > 0\n"
        "sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(EXAMPLE)], cwd=ROOT, check=True)
