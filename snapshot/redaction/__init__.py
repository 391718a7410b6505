"""Credentials replaced by stable marks, before anything is archived or rendered."""

from __future__ import annotations

from snapshot.redaction.redactor import Redactor

__all__ = ["Redactor"]
