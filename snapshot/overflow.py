"""The former place of `classify_error`, kept for scripts that import it as `recognise`."""

from snapshot.recovery.classify import classify_error as recognise

__all__ = ["recognise"]
