"""Credentials of today's forms are found in every surrounding; hashes, ids and code never are.

All values are made at run time from a seed, and are void.
"""

# ruff: noqa: E501 - tables of forms

from __future__ import annotations

import base64
import json
import random
import string
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from snapshot.redaction import Redactor
from snapshot.redaction.rules import own_rules

LOWER, HEX, DIGITS = string.ascii_lowercase + string.digits, "0123456789abcdef", string.digits
UPPER, ALL = string.ascii_uppercase + string.digits, string.ascii_letters + string.digits
URL = ALL + "-_"


class Made:
    """Random text; what was made longest is what must not survive."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.longest = ""

    def __call__(self, size: int, alphabet: str = ALL) -> str:
        text = "".join(self._random.choice(alphabet) for _ in range(size - 2))
        text += "7q" if "q" in alphabet else "7e" if "e" in alphabet else "7Q" if "Q" in alphabet else "77"
        self.longest = max(self.longest, text, key=len)
        return text

    def uuid(self) -> str:
        return f"{self(8, HEX)}-{self(4, HEX)}-4{self(3, HEX)}-a{self(3, HEX)}-{self(12, HEX)}"


Form = Callable[[Made], str]
TOKENS: dict[str, Form] = {
    "aws": lambda r: "AKIA" + r(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "github": lambda r: "ghp_" + r(36),
    "github fine-grained": lambda r: f"github_pat_{r(22)}_{r(59)}",
    "gitlab": lambda r: "glpat-" + r(20, URL),
    "gitlab deploy": lambda r: "gldt-" + r(20, URL),
    "gitlab runner": lambda r: "glrt-" + r(20, URL),
    "slack bot": lambda r: f"xoxb-{r(12, DIGITS)}-{r(12, DIGITS)}-{r(24)}",
    "slack app": lambda r: f"xapp-1-A{r(10, UPPER)}-{r(13, DIGITS)}-{r(64, HEX)}",
    "slack webhook": lambda r: f"https://hooks.slack.com/services/T{r(9, UPPER)}/B{r(9, UPPER)}/{r(24)}",
    "stripe": lambda r: "sk_live_" + r(24),
    "stripe webhook": lambda r: "whsec_" + r(32),
    "openai": lambda r: f"sk-proj-{r(48, URL)}T3BlbkFJ{r(48, URL)}",
    "anthropic": lambda r: f"sk-ant-api03-{r(93, URL)}AA",
    "hugging face": lambda r: "hf_" + r(34, string.ascii_letters + "7"),
    "google": lambda r: "AIza" + r(35, URL),
    "google oauth": lambda r: "GOCSPX-" + r(28, URL),
    "groq": lambda r: "gsk_" + r(52),
    "replicate": lambda r: "r8_" + r(37),
    "vault": lambda r: "hvs." + r(90, URL),
    "docker": lambda r: "dckr_pat_" + r(27, URL),
    "grafana": lambda r: f"glsa_{r(32)}_{r(8, HEX)}",
    "databricks": lambda r: "dapi" + r(32, HEX),
    "sentry": lambda r: "sntryu_" + r(64, HEX),
    "supabase": lambda r: "sbp_" + r(40, HEX),
    "notion": lambda r: "ntn_" + r(46),
    "notion, old": lambda r: "secret_" + r(43),
    "atlassian": lambda r: f"ATATT3xFfGF0{r(180, URL)}={r(8, UPPER)}",
    "telegram": lambda r: f"123456{r(4, '123456789')}:AA{r(33, URL)}",
    "npm": lambda r: "npm_" + r(36),
    "pypi": lambda r: "pypi-AgEIcHlwaS5vcmc" + r(120, URL),
    "rubygems": lambda r: "rubygems_" + r(48, HEX),
    "crates": lambda r: "cio" + r(32),
    "twilio": lambda r: "SK" + r(32, HEX),
    "sendgrid": lambda r: f"SG.{r(22, URL)}.{r(43, URL)}",
    "mailgun": lambda r: "key-" + r(32, HEX),
    "mailchimp": lambda r: r(32, HEX) + "-us14",
    "brevo": lambda r: f"xkeysib-{r(64, HEX)}-{r(16)}",
    "digitalocean": lambda r: "dop_v1_" + r(64, HEX),
    "heroku": lambda r: "HRKU-" + r.uuid(),
    "shopify": lambda r: "shpss_" + r(32, HEX),
    "square": lambda r: "sq0csp-" + r(43, URL),
    "linear": lambda r: "lin_api_" + r(40),
    "airtable": lambda r: f"pat{r(14)}.{r(64, HEX)}",
    "figma": lambda r: "figd_" + r(40, URL),
    "discord": lambda r: f"M{r(23)}.{r(6)}.{r(38, URL)}",
    "discord webhook": lambda r: f"https://discord.com/api/webhooks/{r(18, DIGITS)}/{r(68, URL)}",
    "cloudflare origin": lambda r: f"v1.0-{r(24, HEX)}-{r(146, HEX)}",
    "fly": lambda r: "fm2_" + r(120, ALL + "+/"),
    "azure client": lambda r: f"{r(3)}8Q~{r(34, ALL + '~.-')}",
    "azure storage": lambda r: f"AccountName=shop;AccountKey={r(86, ALL + '+/')}==",
    "azure signature": lambda r: f"https://x.example/c?sv=2026&sig={r(43)}%3D",
    "doppler": lambda r: "dp.pt." + r(43),
    "planetscale": lambda r: "pscale_tkn_" + r(43, URL),
    "postman": lambda r: f"PMAK-{r(24, HEX)}-{r(34, HEX)}",
    "pulumi": lambda r: "pul-" + r(40, HEX),
    "terraform": lambda r: f"{r(14)}.atlasv1.{r(67)}",
    "new relic": lambda r: "NRAK-" + r(27, UPPER),
    "dynatrace": lambda r: f"dt0c01.{r(24, UPPER)}.{r(64, UPPER)}",
    "asana": lambda r: f"2/{r(16, DIGITS)}/{r(16, DIGITS)}:{r(32, HEX)}",
    "langsmith": lambda r: f"lsv2_pt_{r(32, HEX)}_{r(10, HEX)}",
    "tailscale": lambda r: f"tskey-auth-{r(12)}-{r(32)}",
    "age": lambda r: "AGE-SECRET-KEY-1" + r(58, UPPER),
    "jwt": lambda r: f"eyJhbGciOiJIUzI1NiJ9.eyJ{r(40)}.{r(43, URL)}",
    "extended key": lambda r: "xprv9" + r(106, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"),
    "password hash": lambda r: f"bob:$2y$10${r(53, ALL + './')}",
    "htpasswd": lambda r: f"bob:$apr1${r(8)}${r(22)}",
}  # fmt: skip
PLACES: dict[str, Form] = {
    "api_key, short": lambda r: f'api_key="{r(10)}9z8"',
    "api_key in a query": lambda r: f"https://x.example/v1?api_key={r(8)}9z8y&q=1",
    "api_key of 32": lambda r: f'client = Client(api_key="{r(32)}")',
    "uuid as an API key": lambda r: "EXA_API_KEY=" + r.uuid(),
    "INI": lambda r: f"[db]\npassword = {r(12)}\n",
    "INI, aligned": lambda r: f"api_key        = {r(24)}\n",
    "YAML": lambda r: f"db:\n  password: {r(9)}\n",
    "YAML, two": lambda r: f"- name: API_TOKEN\n  value: {r(32)}\n",
    "YAML, letters": lambda r: f"  DB_PASSWORD: {r(14, string.ascii_lowercase).replace('7', 'x')}\n",
    "JSON pair": lambda r: json.dumps({"name": "API_TOKEN", "value": r(32)}),
    "dotenv": lambda r: f"DB_PASSWORD={r(10, string.ascii_lowercase).replace('7', 'x')}abc\n",
    "export": lambda r: f"export SMTP_PASS='{r(12)}!'",
    "PG": lambda r: f"PGPASSWORD={r(12)} psql -h db",
    "fish": lambda r: f"set -gx API_TOKEN {r(40)}",
    "Dockerfile": lambda r: f"ENV API_SECRET {r(32)}",
    "PowerShell": lambda r: f'$env:API_TOKEN = "{r(40)}"',
    "XML": lambda r: f"<password>{r(12)}</password>",
    "table": lambda r: f"| api_key | {r(32)} |",
    "prose": lambda r: f"The API key is `{r(32)}`, keep it.",
    "flag": lambda r: f"deploy --api-key {r(32)} --now",
    "password flag": lambda r: f"mysqldump --password={r(12)}1! shop",
    "python": lambda r: f'os.environ["API_TOKEN"] = "{r(40)}"',
    "curl -u": lambda r: f"curl -sS -u bob:{r(14)} https://x.example/",
    "curl --user": lambda r: f"curl --user 'bob:{r(14)}' https://x.example/",
    "mysql -p": lambda r: f"mysql -u root -p{r(14)} shop",
    "sshpass": lambda r: f"sshpass -p '{r(10)}' ssh bob@host",
    "Authorization": lambda r: f"Authorization: Bearer {r(40)}",
    "Authorization, token": lambda r: f'-H "Authorization: token {r(40, HEX)}"',
    "Authorization, basic": lambda r: "Authorization: Basic " + base64.b64encode(f"bob:{r(14)}".encode()).decode(),
    "X-API-Key": lambda r: "X-API-Key: " + r(32),
    "cookie": lambda r: f"Cookie: theme=dark; session={r(48)}",
    "set-cookie": lambda r: f"Set-Cookie: sid={r(40)}; HttpOnly; Path=/",
    "URL": lambda r: f"postgres://app:{r(16)}@db.example:5432/x",
    "URL, no user": lambda r: f"redis://:{r(24)}@cache:6379/0",
    "connection string": lambda r: f"Server=db;Database=x;User Id=sa;Password={r(10)};Encrypt=true",
    "netrc": lambda r: f"machine api.example login bob password {r(14)}",
    "netrc, lines": lambda r: f"machine api.example\n  login bob\n  password {r(14)}\n",
    "pgpass": lambda r: f"db.example:5432:app:bob:{r(16)}\n",
    "npmrc": lambda r: f"//registry.example/:_authToken={r.uuid()}",
    "docker": lambda r: json.dumps({"auths": {"x": {"auth": base64.b64encode(f"bob:{r(20)}".encode()).decode()}}}),
    "kubeconfig": lambda r: f"    client-key-data: {r(64)}==\n    token: {r(40)}\n",
    "kubernetes": lambda r: f"kind: Secret\ndata:\n  password: {base64.b64encode(r(12).encode()).decode()}\n",
    "JWK": lambda r: json.dumps({"kty": "OKP", "crv": "Ed25519", "d": r(43, URL)}),
    "AWS": lambda r: "aws_secret_access_key = " + r(40, ALL + "+/"),
    "presigned": lambda r: f"https://b.example/k?X-Amz-Date=2026&X-Amz-Signature={r(64, HEX)}",
    "PuTTY": lambda r: f"Encryption: none\nPrivate-Lines: 1\n{r(48, ALL + '+/')}\nPrivate-MAC: {r(40, HEX)}",
    "Rails": lambda r: "SECRET_KEY_BASE=" + r(128, HEX),
    "Django": lambda r: f"SECRET_KEY = 'django-insecure-{r(50, LOWER + '!@#$%^&*(-_=+)')}'",
    "WireGuard": lambda r: f"PrivateKey = {r(43, ALL + '+/')}=",
    "query": lambda r: f"jdbc:mysql://h/db?user=a&password={r(12)}&x=1",
    "attribute": lambda r: f'<add key="ApiKey" value="{r(32)}"/>',
    "YAML block": lambda r: f"password: |\n  {r(12)}\n",
    "password in a table": lambda r: f"| password | {r(12)} |",
    "openssl": lambda r: f"openssl rsa -passin pass:{r(10)} -in k",
    "TOTP": lambda r: f"otpauth://totp/x:bob?secret={r(32, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}&issuer=x",
}  # fmt: skip
FORMS = TOKENS | PLACES


def folded(text: str) -> str:
    return "\n".join(text[at : at + 76] for at in range(0, len(text), 76))


FRAMES: dict[str, Callable[[str], str]] = {
    "lines": lambda v: f"output:\n{v}\nnext\n",
    "quoted": lambda v: f"x = '{v}'",
    "diff": lambda v: "".join(f"+{line}\n" for line in v.split("\n")),
    "numbered": lambda v: "".join(f"{n:6}\t{line}\n" for n, line in enumerate(v.split("\n"), 1)),
    "colour": lambda v: f"\x1b[32m{v}\x1b[0m",
    "grep --color": lambda v: f"\x1b[01;31m\x1b[K{v}\x1b[m\x1b[K",
    "escaped colour": lambda v: f"\\x1b[32m{v}\\x1b[0m",
    "caret colour": lambda v: f"^[[32m{v}^[[0m",
    "escaped quote": lambda v: f"\\u0022{v}\\u0022",
    "URL": lambda v: f"https://x.example/cb?q=%22{v}%22",
    "folded": folded,
    "base64": lambda v: base64.b64encode(f"here: {v}".encode()).decode(),
}  # fmt: skip
# Lines of a file are no longer lines in these.
ALONE = {"quoted", "URL", "base64", "escaped quote", "folded"}
OF_LINES = {
    "INI",
    "INI, aligned",
    "YAML",
    "YAML, two",
    "YAML, letters",
    "netrc, lines",
    "kubernetes",
    "PuTTY",
    "kubeconfig",
}


def surviving(made: Made, redacted: str, value: str, frame: str) -> bool:
    if frame == "base64":
        return base64.b64encode(value.encode()).decode()[8:40] in redacted
    core = made.longest[len(made.longest) // 4 : len(made.longest) * 3 // 4]
    return core in redacted.replace("\n", "")


@pytest.mark.parametrize("frame", FRAMES)
def test_forms_in_surroundings(frame):
    missed: list[str] = []
    for name, form in FORMS.items():
        if frame in ALONE and name in OF_LINES:
            continue
        for seed in range(3):
            made = Made(seed)
            value = form(made)
            if surviving(made, Redactor().text(FRAMES[frame](value)), value, frame):
                missed.append(value)
    assert len(missed) <= len(FORMS) * 3 // 100, missed  # chance makes words now and then


def test_forms_in_json_once_and_twice():
    for name, form in FORMS.items():
        made = Made(11)
        value = form(made)
        twice = {"a": json.dumps({"b": value})} if name not in OF_LINES else [value]
        for text in (json.dumps({"command": value}), json.dumps(twice)):
            redacted = Redactor().json(text)
            json.loads(redacted)
            assert not surviving(made, redacted, value, "json"), (name, redacted)


def test_a_token_may_be_continued_on_the_next_line():
    for name, form in TOKENS.items():
        made = Made(5)
        value = form(made)
        at = len(value) // 2
        redacted = Redactor().text(f"run {value[:at]}\\\n   {value[at:]} now")
        assert not surviving(made, redacted.replace("\\\n   ", ""), value, "continued"), name
        assert redacted.startswith("run ")
        assert redacted.endswith(" now")


def test_colour_codes_within_a_secret():
    made = Made(3)
    token = "ghp_" + made(36)
    redactor = Redactor()
    once = redactor.text(f"a {token} b")
    within = redactor.text(f"a \x1b[1m{token[:9]}\x1b[m\x1b[K{token[9:]}\x1b[0m b")
    assert once == "a [secret: github-token 1] b"
    assert within == "a \x1b[1m[secret: github-token 1]\x1b[0m b"


def test_marks_within_a_password_of_an_environment():
    redactor = Redactor()
    text = "HOME=/root\nDB_PASSWORD=Tr0ub4dor&3,{x}\nAPI_SECRET=9f$8,a;b7\nSHELL=/bin/sh\n"
    assert redactor.text(text) == (
        "HOME=/root\nDB_PASSWORD=[secret: named-secret 1]\nAPI_SECRET=[secret: named-secret 2]\nSHELL=/bin/sh\n"
    )


PHRASES = ["correct horse battery staple", "lemon quartz bridge seven", "unit velvet canyon orbit marble"]


@pytest.mark.parametrize("phrase", PHRASES)
def test_passphrases_with_blanks(phrase):
    for text in (
        'passphrase: "{}"',
        "PASSPHRASE='{}'",
        "  password: {}\n",
        "passphrase = {}\n",
        '{{"password": "{}"}}',
    ):
        assert phrase not in Redactor().text(text.format(phrase)), text


@pytest.mark.parametrize(
    "text",
    [
        'password: "Enter your new password"', '"password": "Password is required"', "password: must be set by the user",
        '"passphrase": "at least eight characters"', "password = input or default value", 'label = "password: too short"',
    ],
)  # fmt: skip
def test_sentences_are_no_passphrases(text):
    assert Redactor().text(text) == text


def never(r: Made) -> list[str]:
    """What looks like chance, and is no secret."""
    data = base64.b64encode(f"<svg id='{r(300)}'>password: hunter2!x</svg>".encode()).decode()
    return [
        f"commit {r(40, HEX)}", f"index {r(7, HEX)}..{r(7, HEX)} 100644", f"key={r(40, HEX)}", f"cache-key: linux-{r(64, HEX)}",
        f"sha256:{r(64, HEX)}", f"image: repo/app@sha256:{r(64, HEX)}", f"{r(64, HEX)}  file.tar.gz",
        f'"integrity": "sha512-{r(86)}=="', f"numpy==1.2 --hash=sha256:{r(64, HEX)}", f"id={r.uuid()}", f"session_token_id={r.uuid()}",
        f"key={r.uuid()}", f"X-Request-Id: {r.uuid()}", f'ETag: "{r(32, HEX)}"', f"trace_id={r(32, HEX)}", f"toolu_01{r(22)}",
        f"call_{r(24)}", f"chatcmpl-{r(29)}", f"resp_{r(48, HEX)}", f'"nextToken": "{r(80)}"', f'"sortKey": "{r(24)}"',
        f'cache_key = "{r(40)}"', f"sync token = {r(40)}", f"continuation_token: {r(60)}", f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{r(43)} bob@x",
        f"SHA256:{r(43)} key fingerprint", f"-----BEGIN CERTIFICATE-----\n{r(64)}\n{r(64)}\n-----END CERTIFICATE-----",
        f"-----BEGIN PUBLIC KEY-----\n{r(64)}\n-----END PUBLIC KEY-----", f"data:image/png;base64,{r(400, ALL + '+/')}==",
        f"data:image/svg+xml;base64,{data}", f'publicKeyToken="{r(16, HEX)}"', "api_key = os.environ['API_KEY']",
        "password = get_password('x')", "token = tokenizer.encode(text)[0]", "if password == other.password1: pass",
        "def f(password: str = None, token: Token2 = None): ...", "authorization = base64.decodebytes(header)",
        "members = [AuthorizationMember, MemberAutoRouterWrite]", '{"PWD": work_dir}', "labelKey: 'logs.common.last15Minutes'",
        "docker run -u 1000:1000 -p 8080:80 app", "ssh -p 2222 host", "# Pass, since both nan", "pass through the values",
        "psql -p 5432 -h db", "x = password|passwd|passphrase2!", "fw_squad_num_train_100_eval_100_flan-t5-xl",
        "sk-btn-primary-large-v2-12 risk-assessment-model-3-final", "mask-rcnn-resnet50-fpn-v2", "win32api.RegEnumKey = win32api.RegEnumKey2",
    ]  # fmt: skip


@pytest.mark.parametrize("frame", ["lines", "quoted", "colour", "diff", "escaped quote"])
def test_hashes_ids_and_code_never(frame):
    for seed in range(5):
        for text in never(Made(seed)):
            framed = FRAMES[frame](text)
            redactor = Redactor()
            assert redactor.text(framed) == framed, (redactor.counts, framed)


def test_no_false_alarm_in_the_standard_library():
    """Of 3 MB of code, nothing but what its own examples call a password."""
    redactor = Redactor()
    for path in sorted(Path(json.__file__).parents[1].glob("*.py")):
        redactor.text(path.read_text(encoding="utf-8", errors="replace"))
    assert sum(redactor.counts.values()) <= 3, redactor.counts


STARTS = sorted({start for rule in own_rules() for start in rule.starts})
PIECES = [
    *STARTS, "\x1b[", "\x1b]8;;", "\x9b", "%22", "%25", "\\u0022", "\\x1b[3", "\\\n", "^[[", "=\"", "key='", 'token="', "password: a ",
    "key, secret, ", "a1B2c3D4e5F6g7H8i9 ", "A" * 76 + "\n", "dG9rZW4gZ2hwX", "token ", "curl -u a:", "mysql -p", "Private-Lines: 1\n" + "A" * 64,
    "-----BEGIN PRIVATE KEY-----\x1b[0m\n", "login a password ", "Cookie: a=b; ", "[secret: ", "secret=\\\n",
]  # fmt: skip


def slow_pieces(size: int, most: float) -> list[tuple[str, float]]:
    """Pieces of which a text of `size` characters takes longer than `most` seconds."""
    slow: list[tuple[str, float]] = []
    for piece in PIECES:
        for tail in ("", "a1B ", " "):
            text = ((piece + tail) * (size // len(piece + tail) + 1))[:size]
            began = time.process_time()
            Redactor().text(text)
            if (took := time.process_time() - began) > most:
                slow.append((piece + tail, took))
    return slow


def test_time_grows_with_length_at_most():
    """Were the work quadratic for any of these, this would take minutes."""
    assert not slow_pieces(6_000, 0.5)


@pytest.mark.slow
def test_time_grows_with_length_at_most_in_long_texts():
    assert not slow_pieces(120_000, 6)
