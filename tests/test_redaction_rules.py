"""Rules of one's own, rules that hold on every Python, and where redaction is applied."""

# ruff: noqa: E501 - tables of patterns and mistakes

from __future__ import annotations

import importlib
import json
import pkgutil
import random
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import snapshot
import snapshot.redaction
from snapshot._lazy import _Uncompiled
from snapshot.messages import Message, Text, Transcript
from snapshot.redaction import Redactor, RuleError
from snapshot.redaction.rules import own_rules, read_rules

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"

# --- patterns that every supported Python matches alike


def repeats_a_group_possessively(pattern: str, flags: int = 0) -> bool:
    """Whether a possessive quantifier stands behind more than one character or class.

    Python 3.11.0 to 3.11.4 then keep what a repetition consumed that failed (gh-106052).
    """
    from re import _constants, _parser  # type: ignore[attr-defined]

    single = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY)

    def parts(node: Any) -> Iterator[Any]:
        if isinstance(node, _parser.SubPattern):
            yield node
        if isinstance(node, _parser.SubPattern | list | tuple):
            for part in node:
                yield from parts(part)

    for part in parts(_parser.parse(pattern, flags)):
        for operation, argument in part:
            if operation is _constants.POSSESSIVE_REPEAT:
                repeated = argument[2]
                if len(repeated) != 1 or repeated[0][0] not in single:
                    return True
    return False


@pytest.mark.parametrize(
    ("pattern", "bad"),
    [
        (r"(?:ab?c)++", True), (r"(?:\s|xy){0,40}+y", True), (r"x(?:a(?:b\d)*+)?", True), (r"(?=(?:ab)?+)", True),
        (r"[ab]++c", False), (r"\d{2,}+", False), (r"(?>(?:ab?c)+)", False), (r"(?>[a-z]*+x)", False), (r"(a|b)+", False),
    ],
)  # fmt: skip
def test_the_check_knows_the_bad_form(pattern, bad):
    assert repeats_a_group_possessively(pattern) is bad


def patterns_of(value: Any) -> Iterator[Any]:
    """The regular expressions in a value, compiled or still to be."""
    if isinstance(value, re.Pattern | _Uncompiled):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from patterns_of(one)
    elif isinstance(value, tuple | list | frozenset):
        for one in value:
            yield from patterns_of(one)


def test_no_pattern_repeats_a_group_possessively():
    found = [rule.pattern for rule in own_rules()]
    for module in pkgutil.iter_modules(snapshot.redaction.__path__):
        for value in vars(importlib.import_module(f"snapshot.redaction.{module.name}")).values():
            found += patterns_of(value)
    assert len(found) > 200
    assert not [one.pattern for one in found if repeats_a_group_possessively(one.pattern, one.flags)]


# --- every form finds what it describes


CLASSES: dict[str, list[str]] = {}


def example(pattern: re.Pattern[str], chance: random.Random) -> tuple[str, str]:
    """A text that `pattern` could match, and what must stand before it."""
    from re import _constants, _parser  # type: ignore[attr-defined]

    before: list[str] = []

    def of_class(items: Any) -> str:
        known = str(items)
        if known not in CLASSES:
            CLASSES[known] = chars_of(items)
        return chance.choice(CLASSES[known])

    def chars_of(items: Any) -> list[str]:
        chars = [chr(code) for code in range(33, 127)]
        inside = [
            char
            for char in chars
            if any(holds(item, char) for item in items if item[0] is not _constants.NEGATE)
        ]
        negated = items[0][0] is _constants.NEGATE
        return [char for char in chars if char not in inside] if negated else inside

    def holds(item: Any, char: str) -> bool:
        kind, value = item
        if kind is _constants.RANGE:
            return value[0] <= ord(char) <= value[1]
        if kind is _constants.CATEGORY:
            return (
                char.isdigit()
                if "DIGIT" in str(value)
                else char.isspace()
                if "SPACE" in str(value)
                else char.isalnum()
            )
        return ord(char) == value

    def of(node: Any) -> str:
        said: list[str] = []
        for operation, argument in node:
            if operation is _constants.LITERAL:
                said.append(chr(argument))
            elif operation is _constants.IN:
                said.append(of_class(argument))
            elif operation in (_constants.MAX_REPEAT, _constants.POSSESSIVE_REPEAT):
                least, most, repeated = argument
                count = chance.randint(least, min(int(most), least + 6))
                said += [of(repeated) for _ in range(count)]
            elif operation is _constants.SUBPATTERN:
                said.append(of(argument[3]))
            elif operation is _constants.ATOMIC_GROUP:
                said.append(of(argument))
            elif operation is _constants.BRANCH:
                said.append(of(chance.choice(argument[1])))
            elif operation is _constants.ASSERT and argument[0] < 0:
                before.append(of(argument[1]))
        return "".join(said)

    return of(_parser.parse(pattern.pattern)), "".join(before)


TABLE = tomllib.loads(
    Path(snapshot.redaction.__file__).with_name("redaction.toml").read_text(encoding="utf-8")
)
TOKENS = own_rules()[: len(TABLE["tokens"])]


def test_every_form_finds_what_it_describes():
    chance = random.Random(3)
    dead: list[str] = []
    for rule in TOKENS:
        found = 0
        for _ in range(12):
            text, before = example(rule.pattern, chance)
            lead = next((start for start in rule.starts if text.startswith(start)), "")
            # A lookbehind may tell what the literal itself is, or what stands before it.
            framed = f"see {before}{text[len(lead) :] if before.endswith(lead) else text} there"
            found += "[secret: " in Redactor().text(framed)
        if found < 4:  # a dot by chance, a lookahead that is not looked at
            dead.append(f"{rule.kind} {rule.starts}: {found}")
    assert not dead


# --- rules of one's own


def rules_in(folder: Path, text: str) -> Path:
    path = folder / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_own_rules_come_before_the_others(tmp_path):
    path = rules_in(
        tmp_path,
        r"""
        tokens = [{ kind = "crew-token", starts = ["ghp_"], body = '[A-Za-z0-9]{36}{end}' }]
        [[rules]]
        kind = "employee"
        pattern = 'XY-\d{6}'
        [[rules]]
        kind = "badge"
        starts = ["badge "]
        nocase = true
        pattern = '(?i:badge) (?P<secret>[0-9A-F]{6,}+)'
        contextual = true
        """,
    )
    redactor = Redactor(path)
    said = redactor.text(f"XY-123456 has Badge 00C0FFEE and {SECRET}; \x1b[1mXY-123456\x1b[0m")
    assert said == (
        "[secret: employee 1] has Badge [secret: badge 1] and [secret: crew-token 1]; "
        "\x1b[1m[secret: employee 1]\x1b[0m"
    )
    assert redactor.counts == {"employee": 1, "badge": 1, "crew-token": 1}
    assert redactor.text(said) == said
    assert Redactor([path, path]).text("XY-123456") == "[secret: employee 1]"
    assert Redactor().text("XY-123456") == "XY-123456"


MISTAKES = {
    "colour = 1": ["colour: unknown", "no rules"],
    "": ["no rules"],
    "rules = 3": ["rules: not an array of tables"],
    "rules = [3]": ["rules 1: not a table"],
    "[[rules]]\nkind = 'a'": ["rules 1: pattern: missing"],
    "[[rules]]\npattern = 'a'": ["rules 1: kind: missing"],
    "[[rules]]\nkind = 'Employee No'\npattern = 'a'": ["rules 1: kind: 'Employee No' is not"],
    "[[rules]]\nkind = 'a'\npatern = 'a'": ["patern: no such field; did you mean pattern?", "pattern: missing"],
    "[[rules]]\nkind = 'a'\npattern = '(a'": ["rules 1: pattern: no regular expression"],
    "[[rules]]\nkind = 'a'\npattern = 'a*'": ["rules 1: pattern: matches nothing as well"],
    "[[rules]]\nkind = 'a'\npattern = '(?:a|bc)++d'": ["rules 1: pattern: a possessive quantifier"],
    "[[rules]]\nkind = 'a'\npattern = 7": ["rules 1: pattern: 7 is of another type"],
    "[[rules]]\nkind = 'a'\npattern = 'a'\ncheck = 'vared'": ["check: 'vared' is none of", "did you mean varied?"],
    "[[rules]]\nkind = 'a'\npattern = 'a'\ncheck = 'named'": ["check: 'named' is none of"],
    "[[rules]]\nkind = 'a'\npattern = 'a'\nstarts = ['a', '']": ["rules 1: starts: '' is no literal"],
    "[[rules]]\nkind = 'a'\npattern = 'a'\nstarts = ['A']\nnocase = true": ["rules 1: starts: 'A' must be"],
    "[[tokens]]\nkind = 'a'\nbody = 5": ["tokens 1: body: 5 is of another type"],
    "[[rules": ["no TOML"],
    "[[rules]]\nkind = 'a'\npattern = '('\n[[rules]]\nkind = 'B'\npattern = 'b'": ["rules 1: pattern", "rules 2: kind"],
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_each_mistake_is_a_line(tmp_path, text):
    path = rules_in(tmp_path, text)
    with pytest.raises(RuleError) as error:
        read_rules(path)
    said = str(error.value)
    assert all(line.startswith(f"{path}: ") for line in said.splitlines())
    assert all(expected in said for expected in MISTAKES[text]), said


def test_a_possessive_class_is_no_mistake(tmp_path):
    path = rules_in(tmp_path, "[[rules]]\nkind = 'a'\npattern = 'x[()*+]++y[^)]*+'\n")
    assert Redactor(path).text("x+)(y- z") == "[secret: a 1]"


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(RuleError, match="cannot be read"):
            Redactor(path)
    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RuleError, match="no TOML"):
        Redactor(path)


# --- where it is applied

TALK = Transcript((Message("user", (Text(f"it is {SECRET}, employee XY-123456"),)),), "text")


def sources(folder: Path) -> str:
    return next(folder.glob("source-*.txt")).read_text(encoding="utf-8")


def run(*arguments: Any, code: int = 0, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "snapshot", *map(str, arguments)], capture_output=True, text=True, cwd=cwd
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_render_redacts_unless_told_otherwise(tmp_path):
    (tmp_path / "talk.md").write_text(f"## User\n\nit is {SECRET}, employee XY-123456\n", encoding="utf-8")
    common = ("render", "talk.md", "-m", "claude-opus-4-8", "-o")
    done = run(*common, "a", "--json", cwd=tmp_path)
    assert "credentials redacted: 1 github-token" in done.stderr
    assert json.loads(done.stdout)["redactions"] == {"github-token": 1}
    assert "it is [secret: github-token 1], employee XY-123456" in sources(tmp_path / "a")
    assert SECRET not in "".join(p.read_bytes().decode("latin-1") for p in (tmp_path / "a").iterdir())
    run("read", "a", "--check", cwd=tmp_path)
    plain = run(*common, "b", "--no-redaction", cwd=tmp_path)
    assert SECRET in sources(tmp_path / "b")
    assert "redacted" not in plain.stderr
    rules_in(tmp_path, "[[rules]]\nkind = 'employee'\npattern = 'XY-[0-9]{6}'\n")
    run(*common, "c", "--redaction-rules", "rules.toml", cwd=tmp_path)
    assert "it is [secret: github-token 1], employee [secret: employee 1]" in sources(tmp_path / "c")
    rules_in(tmp_path, "[[rules]]\nkind = 'employee'\n")
    wrong = run(*common, "d", "--redaction-rules", "rules.toml", code=2, cwd=tmp_path)
    assert wrong.stderr == "snapshot: rules.toml: rules 1: pattern: missing\n"
    assert not (tmp_path / "d").exists()


def test_compact_takes_rules_of_ones_own(tmp_path):
    (tmp_path / "talk.md").write_text(
        "## User\n\nemployee XY-123456\n\n## Assistant\n\nyes\n", encoding="utf-8"
    )
    rules_in(tmp_path, "[[rules]]\nkind = 'Employee'\npattern = 'XY-[0-9]{6}'\n")
    wrong = run(
        "compact", "talk.md", "-m", "gpt-5.5", "--redaction-rules", "rules.toml", code=2, cwd=tmp_path
    )
    assert "rules 1: kind" in wrong.stderr


def test_the_librarys_render_redacts_transcripts():
    def chars(**settings: Any) -> int:
        return sum(page.chars for page in snapshot.render(TALK, model="claude-opus-4-8", **settings))

    secret_less = len(SECRET) - len("[secret: github-token 1]")
    assert chars(redact=False) - chars() == secret_less
    redactor = Redactor()
    assert chars(redact=redactor) == chars()
    assert redactor.counts == {"github-token": 1}
    (page,) = snapshot.render(f"it is {SECRET}", model="claude-opus-4-8")  # a text is taken as it is
    assert page.chars == len(f"it is {SECRET}")
