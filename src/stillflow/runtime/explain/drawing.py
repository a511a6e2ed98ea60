"""Reports of plans as pictures: for Graphviz, and as a page of its own."""

from __future__ import annotations

import html
from collections.abc import Sequence

from stillflow.runtime.explain.record import Line, PlanReport
from stillflow.runtime.explain.text import label_of, shape_of, text_of

_WIDTH, _HEIGHT, _GAP = 190, 38, 16  # pixels of a box, and between boxes
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Plans</title>
<style>
:root {{ color-scheme: light dark; font: 14px system-ui, sans-serif; }}
body {{ margin: 2rem; }} pre {{ overflow-x: auto; }} .graph {{ overflow: auto; }}
rect {{ fill: color-mix(in srgb, CanvasText 8%, Canvas); stroke: CanvasText; rx: 5px; }}
rect.hot {{ fill: color-mix(in srgb, orangered 45%, Canvas); }}
text {{ fill: CanvasText; font-size: 11px; }} path {{ stroke: GrayText; fill: none; }}
</style>
{body}
</html>
"""


def dot_of(plans: Sequence[PlanReport]) -> str:
    """Plans as a graph in Graphviz' language, one cluster each."""
    lines = ["digraph plans {", "  node [shape=box, fontname=sans, fontsize=10];"]
    for number, plan in enumerate(plans):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_quoted(', '.join(plan.fetches))};")
        for at, line in enumerate(plan.lines):
            shown = (
                f"{label_of(line)}\\n{line.dtype} {shape_of(line.dims)}"
                if line.dtype
                else (label_of(line))
            )
            tip = ", ".join(line.operations)
            lines.append(f"    p{number}_{at} [label={_quoted(shown)}, tooltip={_quoted(tip)}];")
            lines += [f"    p{number}_{maker} -> p{number}_{at};" for maker in line.takes]
        lines.append("  }")
    return "\n".join([*lines, "}", ""])


def page_of(plans: Sequence[PlanReport]) -> str:
    """Plans as a page for a browser: pictures, and the text of `explain` below each."""
    parts = []
    for plan in plans:
        parts.append(f"<h2>{html.escape(', '.join(plan.fetches))}</h2>")
        parts.append(f'<div class="graph">{_picture(plan)}</div>')
        parts.append(f"<details><summary>Passes and steps</summary><pre>"
                     f"{html.escape(text_of(plan))}</pre></details>")  # fmt: skip
    return _PAGE.format(body="\n".join(parts))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', r"\"") + '"'


def _picture(plan: PlanReport) -> str:
    places = _places(plan.lines)
    width = max((x for x, _ in places), default=0) + _WIDTH + _GAP
    height = max((y for _, y in places), default=0) + _HEIGHT + _GAP
    most = max((line.seconds for line in plan.lines), default=0.0)
    edges, boxes = [], []
    for line, (x, y) in zip(plan.lines, places, strict=True):
        for maker in line.takes:
            from_x, from_y = places[maker][0] + _WIDTH, places[maker][1] + _HEIGHT // 2
            edges.append(f'<path d="M{from_x} {from_y} L{x} {y + _HEIGHT // 2}"/>')
        hot = ' class="hot"' if most and line.seconds > most / 2 else ""
        boxes.append(
            f"<g><title>{html.escape(', '.join(line.operations))}\n{html.escape(line.place)}"
            f'</title><rect{hot} x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}"/>'
            f'<text x="{x + 6}" y="{y + 15}">{html.escape(label_of(line)[:32])}</text>'
            f'<text x="{x + 6}" y="{y + 30}">{line.dtype} '
            f"{shape_of(line.dims) if line.dtype else ''}</text></g>"
        )
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img">{"".join(edges)}{"".join(boxes)}</svg>'


def _places(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """Return the corner of each box: the column by distance from the feeds, below earlier boxes."""
    depths: list[int] = []
    filled: dict[int, int] = {}
    places = []
    for line in lines:
        depth = max((depths[maker] + 1 for maker in line.takes), default=0)
        depths.append(depth)
        row = filled.get(depth, 0)
        filled[depth] = row + 1
        places.append((_GAP + depth * (_WIDTH + 3 * _GAP), _GAP + row * (_HEIGHT + _GAP)))
    return places
