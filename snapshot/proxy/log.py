"""What a proxy says of itself: lines on standard error, with neither headers nor queries nor bodies."""

from __future__ import annotations

import logging

__all__ = ["quiet_log"]


class _Lines(logging.Formatter):
    """A record as one line that a terminal can show."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        return "snapshot proxy: " + "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def quiet_log() -> None:
    """Print what the proxy itself says, and nothing of the libraries below it, whose lines may hold a key."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines())
    for name, level in (("snapshot.proxy", logging.INFO), ("uvicorn", logging.CRITICAL)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    for name in ("uvicorn.error", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
