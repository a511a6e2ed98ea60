"""Reports of plans as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from stillflow.graph.constant_value import Dims
from stillflow.runtime.explain.record import Change, Line, PlanReport

_UNITS = ("B", "KiB", "MiB", "GiB")
_WIDEST = 44  # characters of a column


def text_of(plan: PlanReport, times: bool = True) -> str:
    """Return a plan as text: its purpose, each pass's changes, its steps.

    `times` differ from run to run, and may be left out.
    """
    parts = [_title(plan, times), *([plan.engine] if plan.engine else []), ""]
    parts += [*_passes(plan, times), ""]
    if not plan.lines:
        return "\n".join([*parts, "It has no step: it runs operation by operation."])
    return "\n".join([*parts, *_steps(plan, times)])


def shape_of(dims: Dims) -> str:
    """Return a shape as text: "[32, ?]"; "?" if the rank is unknown."""
    if dims is None:
        return "?"
    return "[" + ", ".join("?" if size is None else str(size) for size in dims) + "]"


def size_of(count: int) -> str:
    """Return a number of bytes: "1.5 MiB"."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if size >= 10 or not unit else f"{size:.1f} {_UNITS[unit]}"


def _title(plan: PlanReport, times: bool) -> str:
    fed = ", ".join(f"{name} {shape_of(dims)}" for name, dims in plan.feeds)
    title = f"plan of {', '.join(plan.fetches) or 'nothing'}" + (f"; fed {fed}" if fed else "")
    if times:
        title += f"; made in {plan.seconds * 1e3:.1f} ms"
        title += f", timed in {plan.runs} run{'s' * (plan.runs != 1)}" if plan.runs else ""
    return title


def _passes(plan: PlanReport, times: bool) -> list[str]:
    header = ["pass", "matches", "steps", *(["ms"] if times else []), "what it changed"]
    rows = []
    for change in plan.changes:
        steps = str(change.after)
        if change.before != change.after and change.before:
            steps = f"{change.before} -> {change.after}"
        spent = [f"{change.seconds * 1e3:.2f}"] if times else []
        rows.append([change.name, str(change.matches or ""), steps, *spent, _changed(change)])
    return _table(header, rows)


def _changed(change: Change) -> str:
    gone, made = Counter(change.removed), Counter(change.added)
    if not gone and not made:
        return ""
    texts = [", ".join(_counted(name, n) for name, n in each.items()) for each in (gone, made)]
    return f"{texts[0] or 'nothing'}  ->  {texts[1] or 'nothing'}"


def _counted(name: str, count: int) -> str:
    return name if count == 1 else f"{count} x ({name})"


def _steps(plan: PlanReport, times: bool) -> list[str]:
    timed = times and plan.runs > 0
    devices = any(line.device for line in plan.lines)
    header = ["#", "step", "of", "gives", "takes", "bytes"]
    header += ["device"] * devices + ["us"] * timed + ["line"]
    rows = []
    for number, line in _numbered(plan.lines):
        label = f"{'  ' * number.count('.')}{label_of(line)}"
        outer = number.rpartition(".")[0] and f"{number.rpartition('.')[0]}."
        row = [number, label, _names(line.operations), _gives(line)]
        row += [" ".join(f"{outer}{maker}" for maker in line.takes)]
        row += [size_of(line.bytes) if line.bytes else "", *([line.device] * devices)]
        row += [f"{line.seconds / max(1, plan.runs) * 1e6:.1f}" if not outer else ""] * timed
        rows.append([*row, line.place])
    return _table(header, rows)


def _numbered(lines: Sequence[Line], outer: str = "") -> Iterator[tuple[str, Line]]:
    """Yield steps with their numbers; those of a loop follow it: "12.0", "12.1"."""
    for number, line in enumerate(lines):
        yield f"{outer}{number}", line
        yield from _numbered(line.inner, f"{outer}{number}.")


def label_of(line: Line) -> str:
    """Return the label of a step: its work in a few words."""
    text = line.label if line.kind == "call" else f"{line.kind} ({line.label})"
    text = f"{line.engine}: {text}" if line.engine else text
    text = f"{line.part}: {text}" if line.part else text
    if line.guard:
        text += " if " + " and ".join(name if yes else f"not {name}" for name, yes in line.guard)
    return text


def _names(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 1} more" if names[1:] else ""
    room = _WIDEST - len(more)  # the end of a name says more than its scopes
    return (names[0] if len(names[0]) <= room else f"…{names[0][1 - room :]}") + more


def _gives(line: Line) -> str:
    return f"{line.dtype} {shape_of(line.dims)}" if line.dtype else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    columns = list(zip(header, *rows, strict=True))
    widths = [min(_WIDEST, max(map(len, column))) for column in columns]
    numbers = [all(cell.replace(".", "").isdigit() for cell in column[1:]) for column in columns]
    lines = []
    for row in (header, *rows):
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numbers, strict=True)
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
