"""Trials through the official clients, against a local server that plays all outcomes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from snapshot.pages.layout import layout_for
from snapshot.trial.arms import arm_of
from snapshot.trial.journal import Journal
from snapshot.trial.plan import plan_of
from snapshot.trial.results import counted, results_of
from snapshot.trial.run import run
from snapshot.trial.senders import APIS, Api, sender_for
from snapshot.trial.sending import NotSent, Prompt, Unknown
from tests.conftest import HERE
from tests.fake_provider import FakeProvider, Reply, Seen, overflow, overloaded, rate_limit, refuse, say
from tests.trial_players import answer, small_plan, text_of

pytestmark = pytest.mark.clients

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


def sender(fake: FakeProvider, api: Api):
    bases = {
        "anthropic": fake.url,
        "openai-responses": fake.url + "/v1",
        "openai-chat": fake.url + "/v1",
        "gemini": fake.url,
    }
    return sender_for(api, base_url=bases[api])


def prompt(model: str = "m") -> Prompt:
    return Prompt(model, (PNG, PNG), "What is there?", 50, detail="high", reasoning="low")


def words_of(seen: Seen) -> str:
    """The longest text of a request, which is the prompt."""
    found: list[str] = []
    stack: list[Any] = [seen.json]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += [value for key, value in item.items() if key != "data"]
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, str) and not item.startswith("data:"):
            found.append(item)
    return max(found, key=len)


# Answers that are outcomes, in each API's own form.
USAGE = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}
RESPONSE = {
    "id": "r", "object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": True, "tools": [],
    "tool_choice": "auto", "error": None, "instructions": None, "metadata": {},
    "usage": {**USAGE, "input_tokens_details": {"cached_tokens": 0},
              "output_tokens_details": {"reasoning_tokens": 0}},
}  # fmt: skip


def item(**part: Any) -> dict[str, Any]:
    return {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}


def message(stop: str, text: str) -> dict[str, Any]:
    return {
        "id": "a", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None,
        "stop_reason": stop, "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 9, "output_tokens": 4},
    }  # fmt: skip


def chat(ended: str, **words: Any) -> dict[str, Any]:
    made = {"role": "assistant", "content": None, **words}
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    return {"id": "c", "choices": [{"index": 0, "finish_reason": ended, "message": made}], "usage": usage}


def gemini(ended: str, text: str) -> dict[str, Any]:
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 1, "totalTokenCount": 13}
    chosen = {"finishReason": ended, "content": {"role": "model", "parts": [{"text": text}]}}
    return {"candidates": [chosen], "usageMetadata": usage, "responseId": "g"}


CUT: dict[str, Any] = {
    "anthropic": message("max_tokens", "hal"),
    "openai-responses": {**RESPONSE, "status": "incomplete",
               "incomplete_details": {"reason": "max_output_tokens"},
               "output": [item(type="output_text", text="hal", annotations=[])]},
    "openai-chat": chat("length", content="hal"),
    "gemini": gemini("MAX_TOKENS", "hal"),
}  # fmt: skip
REFUSED: dict[str, Any] = {
    "anthropic": message("refusal", ""),
    "openai-responses": {**RESPONSE, "status": "completed", "incomplete_details": None,
               "output": [item(type="refusal", refusal="no")]},
    "openai-chat": chat("stop", refusal="no"),
    "gemini": gemini("PROHIBITED_CONTENT", ""),
}  # fmt: skip


@pytest.mark.parametrize("api", APIS)
def test_every_outcome_of_every_client(api):
    with FakeProvider() as fake:
        send = sender(fake, api)
        fake.script(say("Two pages."))
        done = send(prompt())
        assert (done.text, done.stop) == ("Two pages.", "end")
        assert done.input == fake.requests[-1].tokens > 3000
        assert done.output
        assert fake.requests[-1].tokens >= 2 * 1500
        fake.script(refuse(200, CUT[api]), refuse(200, REFUSED[api]))
        assert (send(prompt()).stop, send(prompt()).stop) == ("length", "refusal")
        fake.script(
            refuse(400, {"error": {"message": "stopped by content_filter", "code": 400, "status": "X"}})
        )
        refused = send(prompt())
        assert (refused.stop, refused.input) == ("refusal", 0)
        for reply in (rate_limit(), overloaded()):
            fake.script(reply)
            with pytest.raises(NotSent) as busy:
                send(prompt())
            assert busy.value.again
        for reply in (overflow(), refuse(401, {"error": {"message": "no such key", "code": 401}})):
            fake.script(reply)
            with pytest.raises(NotSent) as wrong:
                send(prompt())
            assert not wrong.value.again
            assert len(str(wrong.value).splitlines()) == 1
        fake.script(say("never", broken=5))
        with pytest.raises(Unknown):
            send(prompt())
        fake.script(refuse(504, "gateway timeout"))
        with pytest.raises(Unknown):
            send(prompt())
        assert len(fake.requests) == 10  # no client asks again by itself
    with pytest.raises(NotSent) as gone:  # the server is gone
        send(prompt())
    assert gone.value.again


def test_no_key_goes_to_a_server_that_it_is_not_for(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "sk-private")
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with FakeProvider() as fake:
        for api in APIS:
            sender(fake, api)(prompt())
        assert "sk-private" not in str([seen.headers for seen in fake.requests])
        monkeypatch.setenv("OWN_KEY", "sk-own")
        sender_for("openai-chat", base_url=fake.url + "/v1", key_env="OWN_KEY")(prompt())
        assert fake.requests[-1].headers["authorization"] == "Bearer sk-own"


@pytest.mark.parametrize(
    ("api", "model"),
    [("anthropic", "claude-haiku-4-5"), ("openai-responses", "gpt-6.1-sol"), ("gemini", "gemini-3.8-flash")],
)
def test_a_trial_through_a_client(api, model, tmp_path):
    layout = layout_for(model)
    planned = plan_of(model, layout, [arm_of("fira-9x16", layout)], pages=1)

    def reply(seen: Seen) -> Reply:
        words = words_of(seen)
        return say(answer(text_of(planned, words), words))

    with FakeProvider(reply=reply) as fake:
        done = run(planned, sender(fake, api), tmp_path, budget=Decimal(5))
    assert done.ended == "done"
    arm = results_of(tmp_path).arms[0]
    assert counted(arm.exact) == (24, 24)
    assert arm.error_rate == 0
    assert arm.bill is not None
    assert arm.bill.pages_billed == pytest.approx(1500, abs=10)  # a few tokens of words around them


def test_ten_kills_of_the_command(tmp_path):
    """The whole command, killed ten times: it ends within its budget, and its rows are written."""
    names = ("drawn-7x13", "fira-9x16")
    planned = small_plan(*names, pages=4, seed=5)
    folder, budget, random = tmp_path / "trial", Decimal("0.60"), Random(2)
    script = [
        rate_limit(),
        refuse(200, CUT["openai-chat"]),
        refuse(200, REFUSED["openai-chat"]),
        overloaded(),
    ]

    def reply(seen: Seen) -> Reply:
        # Behind the first pages: an arm that loses those is given up.
        if seen.number > 18 and seen.number % 2 and script:
            return script.pop()
        words = words_of(seen)
        return say(answer(text_of(planned, words), words, 0.95), delay=0.02)

    with FakeProvider(reply=reply) as fake:
        command = [
            sys.executable, "-m", "snapshot", "trial", "my-claude", "--like", "claude-haiku-4-5",
            "--seed", "5",
            "--base-url", fake.url + "/v1", "--price", "1,5", "--budget", str(budget), "--pages", "4",
            *(word for name in names for word in ("--arm", name)), "-o", str(folder),
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
        for _ in range(10):
            before = len(fake.requests)
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
            stop = time.monotonic() + 30
            while len(fake.requests) == before and process.poll() is None and time.monotonic() < stop:
                time.sleep(0.002)
            time.sleep(random.random() * 0.04)
            assert process.poll() is None, "done before it was killed ten times"
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        count = 1 + 2 * 4 * 2
        assert f"{count} of {count} calls answered" in done.stdout
        journal = Journal(folder)
        assert journal.lost <= 10
        assert journal.spent <= budget
        # Each call was asked once, but for those that were lost or turned away.
        turned = (folder / "calls.jsonl").read_text().count('"not sent"')
        assert len(fake.requests) <= count + 10 + turned
    rows = subprocess.run(
        [*command[:4], "rows", str(folder)], env=environment, capture_output=True, text=True, check=True
    )
    found = tomllib.loads(rows.stdout)
    assert len(found["trials"]) == 2 * 4
    assert Path(folder / "key.json").exists()
