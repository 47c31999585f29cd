"""`manus doctor`: what is found, what is missing, and what to do about it."""

from __future__ import annotations

import click

from manus.options import json_array


@click.command()
@json_array
def doctor(json: bool) -> int:
    """Check what is there and what is missing."""
    from dataclasses import asdict

    from manus.doctor import examine, print_findings
    from manus.report import print_json

    findings = examine()
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_findings(findings)
    return 1 if any(finding.state == "missing" for finding in findings) else 0
