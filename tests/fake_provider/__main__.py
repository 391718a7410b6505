"""The fake provider as a program."""

from __future__ import annotations

import argparse
import threading

from tests.fake_provider.server import FakeProvider


def main() -> None:
    """Serve until killed, answering "ok"; the address is printed on a line of its own."""
    parser = argparse.ArgumentParser(description="a local fake of Anthropic, OpenAI and Gemini")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--max-bytes", type=int, default=0)
    chosen = parser.parse_args()
    with FakeProvider(port=chosen.port, window=chosen.window, max_bytes=chosen.max_bytes, keep=100) as fake:
        print(fake.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
