"""Credentials replaced by stable marks, before anything is archived or rendered."""

from __future__ import annotations

from snapshot.redaction.redactor import Redactor
from snapshot.redaction.rules import RuleError

__all__ = ["Redactor", "RuleError"]
