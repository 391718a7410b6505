"""Credentials become marks, the same one each time; what only looks like one stays."""

# ruff: noqa: E501 - tables of what is a secret and what is none

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshot.messages import File, Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, Transcript
from snapshot.redaction import Redactor
from snapshot.transcripts import load
from tests.conftest import HERE, REAL, case

# Invented and void, and in two pieces, so that no scanner takes this file for a leak.
LETTERS = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
B64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
JWT = "eyJ" + "hbGciOiJub25lIn0." + "eyJzdWIiOiJub2JvZHkiLCJleHAiOjF9.c2lnbmF0dXJl"
AWS = "NotRealSecret/" + "NotRealSecret+NotReal12345"
SECRETS = {
    "aws-access-key": ["AKIA" + "NOTREALKEY234567", "ASIA" + "NOTREALKEY234567"],
    "github-token": ["ghp_" + LETTERS, "gho_" + LETTERS, "github_pat_" + "11AAAAAAA0" + LETTERS],
    "gitlab-token": ["glpat-" + LETTERS[:20]],
    "slack-token": ["xoxb-" + "000000000000-000000000000-notarealslacktoken0000"],
    "stripe-key": ["sk_live_" + LETTERS[:24], "rk_test_" + LETTERS[:24]],
    "anthropic-key": ["sk-ant-" + "api03-" + "NotARealKey-" * 6 + "AA"],
    "api-key": [
        "sk-" + "proj-" + LETTERS,
        "sk-" + LETTERS,
        "sk-" + "or-v1-" + "0a1b2c3d" * 8,
        "gsk_" + LETTERS,
    ],
    "google-api-key": ["AIza" + LETTERS[:35]],
    "npm-token": ["npm_" + LETTERS],
    "pypi-token": ["pypi-" + "AgEIcHlwaS5vcmc" + LETTERS],
    "jwt": [JWT],
}
FORMS = [(kind, secret) for kind, secrets in SECRETS.items() for secret in secrets]
PEM = f"-----BEGIN RSA PRIVATE {'KEY'}-----\n{B64}\n{B64[::-1]}\n{B64[:20]}\nabcd==\n-----END RSA PRIVATE {'KEY'}-----"
HARMLESS = [
    "GIT_COMMIT=3f786850e387550fdab836ed7e6dc881de23001b",
    "REQUEST_ID=7d444840-9dc0-11d1-b245-5ffdce74fad2",
    "IMAGE_DIGEST=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "PASSWORD_MIN_LENGTH=14", "TOKEN_LIMIT=200000", "max_tokens=4096", '"input_tokens": 1234567890123456',
    "CACHE_KEY=3f786850e387550fdab836ed7e6dc881de23001b", "IDEMPOTENCY_KEY=7d444840-9dc0-11d1-b245-5ffdce74fad2",
    "cache_key = f'{kind}-{number}'", "api_key = os.environ['EXAMPLE_API_KEY']", "password: str = field(repr=False)",
    "token = self.tokens.pop(0)", "token: Token | None = None", "API_KEY=${API_KEY}", "API_KEY=$API_KEY",
    "API_KEY=your_api_key_1234567890", "PASSWORD=changeme1", 'secret = "getTokenForUserWithName"',
    "sort_key=lambda item: item.name", "next_page_token=CAUQAA1b2C3d4E5f6G7", "primary_key=True",
    "https://example.org:8080/a@b", "http://user@host/x", "postgres://user:password@localhost/db",
    "see -----BEGIN PRIVATE KEY----- in the file", "Authorization: Bearer $TOKEN", "Authorization: Bearer YOUR_TOKEN",
    "Bearer authentication is explained below", "task-20260801-abcdefghijklmnopqrstuvwxyz", "sk-learn", "monkey=banana1234567890",
    "class sk-loading-indicator-wrapper-inner-2", "eyJ", "risk-assessment-1234567890123456789", "ssh-rsa " + B64,
    "-----BEGIN CERTIFICATE-----\n" + B64 + "\n-----END CERTIFICATE-----", "SECRET_KEY_LENGTH=32", "KEY=VALUE",
    "-----BEGIN PUBLIC KEY-----\n" + B64 + "\n-----END PUBLIC KEY-----",
    "tests/test_token_parser_v2.py::test_api_key=ok", "version: 1.2.3-beta.4+build.5678",
]  # fmt: skip


def test_case_021_secrets_in_environment():
    messages = json.loads((case("021") / "input.json").read_text(encoding="utf-8"))
    transcript = load(case("021") / "input.json")
    redactor = Redactor()
    redacted = redactor.transcript(transcript)
    said = json.dumps([str(message) for message in redacted.messages])
    environment = dict(line.split("=", 1) for line in messages[3]["content"].splitlines() if "=" in line)
    for name in ("GITHUB_TOKEN", "ANTHROPIC_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "SLACK_BOT",
                 "SESSION"):  # fmt: skip
        assert environment[name] not in said, name
    for gone in ("hunter2", "NOTAREALKEY", "PRIVATE KEY"):
        assert gone not in said
    assert redactor.counts == dict.fromkeys(
        ("github-token", "anthropic-key", "aws-access-key", "aws-secret-key", "url-password", "slack-token", "jwt",
         "private-key"), 1)  # fmt: skip
    for stays in ("GIT_COMMIT", "REQUEST_ID", "IMAGE_DIGEST", "PASSWORD_MIN_LENGTH", "TOKEN_LIMIT", "SHELL"):
        assert f"{stays}={environment[stays]}" in said
    assert "postgres://shop:[secret: url-password 1]@db.example:5432/shop" in said
    # The same secret has the same mark in the dump and in the question.
    marks = [set(re.findall(r"\[secret: [^\]]+\]", str(redacted.messages[at]))) for at in (3, 5)]
    assert len(marks[0]) == 8
    assert marks[1] == {"[secret: github-token 1]"}
    # What has none is the same object, what has one is no longer what the API sent.
    assert redacted.messages[0] is transcript.messages[0]
    assert redacted.messages[3].raw == ()
    assert Redactor().transcript(redacted) is redacted
    assert "hunter2" in str(transcript.messages)


@pytest.mark.parametrize(("kind", "secret"), FORMS)
def test_forms(kind, secret):
    mark = f"[secret: {kind} 1]"
    for frame in (
        "{}",
        "X={} ",
        "'{}'",
        '{{"a": "{}"}}',
        "see {}.",
        "a\\n{}\\nb",
        "\n{}\n",
        "--key={}",
        "({})",
        "`{}`",
    ):
        text = frame.format(secret)
        assert Redactor().text(text).rstrip(".") == frame.format(mark).rstrip("."), text
    assert secret not in Redactor().text(f"https://{secret}@example.org/x")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text):
    for around in ("{}", "a\n{}\nb", '{{"text": "{}"}}'):
        assert Redactor().text(around.replace("{}", text)) == around.replace("{}", text)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"AWS_SECRET_ACCESS_KEY={AWS}", AWS),
        (f'"SecretAccessKey": "{AWS}"', AWS),
        (f'{{\\"SecretAccessKey\\": \\"{AWS}\\"}}', AWS),
        (f"aws_secret_access_key = {AWS}", AWS),
        (f"SHOP_API_KEY={LETTERS}", LETTERS),
        (f'api_key = "{LETTERS}"', LETTERS),
        (f'{{"apiKey": "{LETTERS}"}}', LETTERS),
        (f"//registry.example/:_authToken={LETTERS}", LETTERS),
        (f"x-api-key: {LETTERS}", LETTERS),
        (f"run --api-key {LETTERS} now", LETTERS),
        ("DATADOG_API_KEY=" + "0a1b2c3d4e5f6a7b" * 2, "0a1b2c3d4e5f6a7b" * 2),
        ("DB_PASSWORD=hunter2!x", "hunter2!x"),
        ("a\\nDB_PASSWORD=hunter2!x\\nb", "hunter2!x"),
        ('password: "hunter2!x"', "hunter2!x"),
        (f"curl -H 'Authorization: Bearer {LETTERS}'", LETTERS),
        (f'"authorization": "Basic {LETTERS}=="', LETTERS + "=="),
        ("amqp://shop:s3cr-t%21@mq.example//", "s3cr-t%21"),
        ("https://hooks.slack.com/services/" + "T00000000/B00000000/" + LETTERS[:24],
         "T00000000/B00000000/" + LETTERS[:24]),
    ],
)  # fmt: skip
def test_secrets_known_by_where_they_stand(text, secret):
    redacted = Redactor().text(text)
    left, _, right = text.partition(secret)
    assert re.fullmatch(re.escape(left) + r"\[secret: [a-z-]+ 1\]" + re.escape(right), redacted), redacted


def test_a_secret_known_by_its_place_is_known_everywhere_after():
    redactor = Redactor()
    assert redactor.text(f"is it {AWS}?") == f"is it {AWS}?"
    redactor.text(f"AWS_SECRET_ACCESS_KEY={AWS}")
    assert redactor.text(f"is it {AWS}?") == "is it [secret: aws-secret-key 1]?"
    assert redactor.counts == {"aws-secret-key": 1}


@pytest.mark.parametrize(
    "form",
    [
        PEM,
        PEM.replace("\n", "\\n"),
        PEM.replace("\n", "\\\\n"),
        PEM.replace("\n", "\r\n"),
        PEM.replace("\n", " "),
        PEM.replace("\n", "\n    "),
        "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(PEM.split("\n"), 1)).lstrip(" 1\t"),
        PEM.replace("\n", "\n+"),
        PEM.replace("\n", '\\n"\n  "'),
        PEM[: PEM.index("-----END")],  # torn: no end
        PEM[: PEM.index(B64[::-1]) + 30],
        PEM[PEM.index(B64[::-1]) :],  # torn: no beginning
        PEM[PEM.index(B64[::-1]) :].replace("\n", "\\n"),
    ],
)
def test_private_keys_go_whole(form):
    redacted = Redactor().text(f"key: '{form}' and more words")
    assert redacted.startswith("key: '")
    assert redacted.endswith(" and more words")
    assert redacted.count("[secret: private-key 1]") == 1
    assert not any(
        piece in redacted for piece in (B64[:16], B64[-16:], B64[::-1][:16], B64[::-1][-16:], "PRIVATE")
    )


def test_a_private_key_is_one_secret_in_every_spelling():
    redactor = Redactor()
    redactor.text(PEM)
    redactor.json(json.dumps({"key": PEM}))
    redactor.text(PEM.replace("\n", "\\n"))
    assert redactor.counts == {"private-key": 1}


@pytest.mark.parametrize(
    "value",
    [
        {"cmd": f"export TOKEN=ghp_{LETTERS}\nexport B=1"},
        {"api_key": LETTERS, "n": 1.50, "deep": [{"password": "hunter2!x"}]},
        {"key.pem": PEM}, {"a": json.dumps({"b": json.dumps({"k": PEM, "token": LETTERS})})},
        [AWS, {"SecretAccessKey": AWS}], "sk-" + "proj-" + LETTERS,
    ],
)  # fmt: skip
def test_json_stays_json(value):
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value).replace("/", "\\/"),
                 re.sub(r"h(?=p_)", r"\\u0068", json.dumps(value))):  # fmt: skip
        redactor = Redactor()
        redacted = redactor.json(text)
        after = json.dumps(json.loads(redacted))
        assert redactor.counts
        assert LETTERS not in after
        assert B64 not in after
        assert "hunter2" not in after
        assert redactor.json(redacted) == redacted


def test_json_keeps_its_layout_and_its_numbers():
    text = '{ "n": 1.50, "n": 1e3,\n "token": "ghp_' + LETTERS + '", "id": 12345678901234567890 }'
    assert Redactor().json(text) == text.replace("ghp_" + LETTERS, "[secret: github-token 1]")
    bare = '{"API_KEY": 10293847561029384756, "path": "a\\\\b"}'
    assert Redactor().json(bare) == bare
    assert Redactor().json('{"torn": "ghp_' + LETTERS) == '{"torn": "[secret: github-token 1]'


def test_every_part_of_a_message():
    secret = "ghp_" + LETTERS
    parts = (
        Text(f"a {secret}"), Reasoning(f"b {secret}", "signature"), ToolCall("1", "sh", json.dumps({"c": secret})),
        ToolResult("1", (Text(secret), Image("image/png", b"x"), File("f", "text/plain", text=secret))),
        File("f", "text/plain", text=secret), Opaque("x", json.dumps([secret])),
        Image("image/png", source=f"https://x:{secret}@example.org"),
    )  # fmt: skip
    message = Message("assistant", parts, raw=({"role": "assistant"},))
    plain = Message("user", (Text("hello"), Image("image/png", b"x")), raw=({"role": "user"},))
    transcript = Transcript((plain, message), "anthropic")
    redacted = Redactor().transcript(transcript)
    assert LETTERS not in repr(redacted)
    assert redacted.messages[0] is plain
    assert redacted.messages[1].raw == ()
    assert redacted.messages[1].parts[1] == Reasoning("b [secret: github-token 1]", None)
    clean = replace(transcript, messages=(plain,))
    assert Redactor().transcript(clean) is clean


PIECES = st.lists(
    st.sampled_from([secret for _, secret in FORMS] + HARMLESS + [PEM, PEM[:90], PEM[-90:], AWS, f"API_TOKEN={LETTERS}",
                    f"SECRET_ACCESS_KEY={AWS}", "://a:b1c2@d", "[secret: jwt 7]", " ", "\n", "\\n", '"', "=", ":", "Bearer "])
    | st.text(max_size=5),
    max_size=12,
)  # fmt: skip


@given(PIECES, st.sampled_from(["", " ", "\n"]))
def test_redaction_is_idempotent(pieces, joint):
    text = joint.join(pieces)
    redactor = Redactor()
    once = redactor.text(text)
    assert redactor.text(once) == once
    assert Redactor().text(once) == once
    assert Redactor().text(text) == once


@given(st.lists(PIECES.map(" ".join), max_size=6), st.integers(0, 6))
def test_a_longer_conversation_keeps_its_numbers(texts, cut):
    def redact(some: list[str]) -> tuple[Message, ...]:
        messages = tuple(Message("user", (Text(text),)) for text in some)
        return Redactor().transcript(Transcript(messages, "text")).messages

    assert redact(texts)[:cut] == redact(texts[:cut])


@given(st.recursive(st.none() | st.integers() | PIECES.map(" ".join),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner)))  # fmt: skip
def test_any_json_stays_json(value):
    redactor = Redactor()
    redacted = redactor.json(json.dumps(value))
    json.loads(redacted)
    assert redactor.json(redacted) == redacted


def test_marks_that_are_there_keep_their_numbers():
    redactor = Redactor()
    text = redactor.text("was [secret: github-token 1], now ghp_" + LETTERS)
    assert text == "was [secret: github-token 1], now [secret: github-token 2]"


def test_no_false_alarm_in_real_transcripts(real):
    for name in REAL:
        redactor = Redactor()
        transcript = load(real / name)
        assert redactor.transcript(transcript) is transcript, redactor.counts


def test_no_false_alarm_in_this_repository():
    root = HERE.parent
    files = [path for folder in ("snapshot", "tests", "layouts", "benchmarks") for path in (root / folder).rglob("*")
             if path.suffix in (".py", ".toml", ".md", ".json") and "cases" not in path.parts]  # fmt: skip
    assert len(files) > 50
    for path in files:
        redactor = Redactor()
        redactor.text(path.read_text(encoding="utf-8"))
        known = {"named-secret", "url-password", "private-key"} if "redaction" in path.stem else set()
        assert redactor.counts.keys() <= known, (path.name, redactor.counts)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "piece",
    ["KEY=", "API_TOKEN=a1B2c3D4e5F6g7H8 ", "sk-", "sk-a1B2", "://a:", "eyJ", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----\n",
     "-----END PRIVATE KEY-----\n", f"-----BEGIN PRIVATE KEY-----\n{B64}\n", B64 + "\n", "Authorization: Bearer ", "--token ",
     "AKIA", "ghp_", "a", "\\n", "-", "xoxb-", "[secret: "],
)  # fmt: skip
def test_time_grows_with_length_at_most(piece):
    """Were the work quadratic, this would not end."""
    redactor = Redactor()
    once = redactor.text((piece * (1 << 18))[: 1 << 18])
    assert redactor.text(once) == once


def test_distinct_secrets_cost_no_more_than_their_number():
    redactor = Redactor()
    for start in range(0, 8_000, 1000):
        redactor.text("\n".join(f"API_TOKEN=a1B2c3D4e5F6g7H8{n:06}" for n in range(start, start + 1000)))
    assert redactor.counts == {"named-secret": 8_000}
