"""Reports as text: a tree of names and values."""

from __future__ import annotations

import os
import sys
from typing import Any

_ENTRIES = 50  # of a long list; --all shows the rest


def lines(report: dict[str, Any], limit: int | None = _ENTRIES, indent: str = "") -> list[str]:
    """Return the lines of a report, whose values may be reports and lists, without empty ones.

    `limit` entries of each list are shown; None for all.
    """
    shown = [(name, value) for name, value in report.items() if not _is_empty(value)]
    left_out = 0
    if limit is not None and len(shown) > limit:
        left_out = len(shown) - limit
        shown = shown[:limit]
    plain = [len(str(name)) for name, value in shown if _is_one_line(value)]
    width = min(max(plain, default=0), 48)
    result = []
    for name, value in shown:
        if isinstance(value, dict) and _is_one_line(value):
            result.append(f"{indent}{name!s:<{width}}  {_flat(value)}")
        elif isinstance(value, dict):
            result.append(f"{indent}{name}")
            result += lines(value, limit, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for index, item in enumerate(value):
                result.append(f"{indent}{name} {index}")
                result += lines(item, limit, indent + "  ")
        else:
            result.append(f"{indent}{name!s:<{width}}  {_text(value)}")
    if left_out:
        result.append(f"{indent}… and {left_out} more (--all shows them)")
    return result


def _is_empty(value: Any) -> bool:
    return value is None or value == {} or value == [] or value == ""


def _is_one_line(value: Any) -> bool:
    """Return True if it fits on a line: no report, or one of few entries that are no reports."""
    if isinstance(value, list):
        return not any(isinstance(each, dict) for each in value)
    if not isinstance(value, dict):
        return True
    return (
        len(value) < 5
        and not any(isinstance(each, dict) for each in value.values())
        and len(_flat(value)) < 80
    )


def _flat(value: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_text(each)}" for name, each in value.items() if not _is_empty(each))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def show(title: str, text: list[str]) -> None:
    """Print a report, in colour if the terminal has it and the package rich is installed."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            console = Console(highlight=False, soft_wrap=True)
            console.print(Text(title, "bold cyan"))
            for line in text:
                name, gap, value = line.lstrip().partition("  ")
                indent = line[: len(line) - len(line.lstrip())]
                bad = "damaged" in value or "not supported" in name or "missing" in value
                shown = Text(indent + name, "bold" if not gap else "green")
                shown.append(gap + value, "bold red" if bad else "")
                console.print(shown)
            return
    print("\n".join([title, *text]))
