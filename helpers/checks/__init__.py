"""Checks that name the mistake: `check`, `borrow`, `judge`, `exercises`."""

from helpers.checks.engine import borrow, check, exercises, judge
from helpers.checks.report import CheckFailed, NotAttempted, Report

__all__ = [
    "CheckFailed",
    "NotAttempted",
    "Report",
    "borrow",
    "check",
    "exercises",
    "judge",
]
