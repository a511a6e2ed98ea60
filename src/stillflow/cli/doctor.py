"""Check the installation: devices, problems, and how to fix them."""

from __future__ import annotations

import argparse
import json
import sys

from stillflow.cli.health.facts import gather
from stillflow.cli.health.findings import GOOD, WRONG, Finding, findings


def main(arguments: list[str]) -> int:
    """Print the findings; return the exit status, 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m stillflow doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON, a list of findings")
    flags = parser.parse_args(arguments)
    found = findings(gather())
    if flags.json:
        json.dump([finding._asdict() for finding in found], sys.stdout, indent=2)
        print()
    else:
        print("\n".join(_lines(found)))
    return int(any(finding.level == WRONG for finding in found))


def _lines(found: list[Finding]) -> list[str]:
    width = max(len(finding.topic) for finding in found)
    lines = []
    for finding in found:
        lines.append(f"{finding.level:<5}  {finding.topic:<{width}}  {finding.text}")
        if finding.remedy and finding.level != GOOD:
            lines.append(f"{'':<{width + 7}}  → {finding.remedy}")
    wrong = sum(finding.level == WRONG for finding in found)
    lines.append(f"\n{wrong} thing{'s' * (wrong != 1)} to fix" if wrong else "\nAll is well.")
    return lines
