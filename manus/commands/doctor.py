"""`manus doctor`: what is found, what is missing, and what to do about it."""

from __future__ import annotations

import argparse

SUMMARY = "Check what is there and what is missing"


def is_available() -> bool:
    """Always."""
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None but the common ones."""
    parser.add_argument("--json", action="store_true", help="a JSON array on stdout")


def execute(args: argparse.Namespace) -> int:
    """Check everything; 0 if a run can be begun."""
    from manus.doctor import examine, print_findings
    from manus.report import print_json

    findings = examine()
    if args.json:
        print_json([finding.as_json() for finding in findings])
    else:
        print_findings(findings)
    return 1 if any(finding.state == "missing" for finding in findings) else 0
