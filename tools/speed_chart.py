"""Chart of docs/speed.md as SVG: training steps relative to TensorFlow 1.15.5."""

from __future__ import annotations

from html import escape

COLUMNS = {"Stillflow": "#00796b", "TF 2": "#f57c00", "PyTorch": "#c62828", "JAX": "#5c6bc0"}
LEFT, WIDTH, BAR, GAP, TOP = 250, 430, 9, 8, 64
MOST = 1.5  # ratio at the right edge; longer bars end there with their number
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#37474f}"
    "@media(prefers-color-scheme:dark){text{fill:#cfd8dc}}"
)


def ratios(table: str) -> list[tuple[str, list[float | None]]]:
    """Return the rows of training steps: title, and the ratio of each implementation."""
    rows = []
    for line in table.splitlines()[2:]:
        title, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if title.startswith("step, "):
            rows.append((title[6:], [float(cell) if cell else None for cell in cells]))
    return rows


def chart(table: str) -> str:
    """Return the SVG of the rows `step, ...` of a table of ratios."""
    body, y = [], TOP
    for title, values in ratios(table):
        bars = [(name, value) for name, value in zip(COLUMNS, values) if value is not None]
        middle = y + len(bars) * BAR / 2 + 4
        body.append(f'<text x="{LEFT - 8}" y="{middle:g}" text-anchor="end">{escape(title)}</text>')
        for name, value in bars:
            width = max(1, WIDTH * min(value, MOST) / MOST)
            body.append(
                f'<rect x="{LEFT}" y="{y}" width="{width:.0f}" height="{BAR - 1}" '
                f'fill="{COLUMNS[name]}"><title>{escape(title)}, {name}: {value:.2f}</title></rect>'
            )
            y += BAR
        y += GAP
    one = LEFT + WIDTH / MOST
    key, x = [], LEFT
    for name, colour in COLUMNS.items():
        key.append(f'<rect x="{x}" y="14" width="12" height="12" fill="{colour}"/>')
        key.append(f'<text x="{x + 17}" y="25">{name}</text>')
        x += 105
    axis = (
        f'<line x1="{one:.0f}" y1="{TOP - 8}" x2="{one:.0f}" y2="{y}" stroke="#78909c" '
        f'stroke-dasharray="4 3"/><text x="{one:.0f}" y="{TOP - 14}" text-anchor="middle">'
        "TensorFlow 1.15.5 = 1</text>"
    )
    size = f"0 0 {LEFT + WIDTH + 40} {y + 8}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img">'
    lines = [head, f"<style>{STYLE}</style>", *key, axis, *body, "</svg>"]
    return "\n".join(lines) + "\n"
