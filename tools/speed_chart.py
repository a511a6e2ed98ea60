"""Chart of docs/speed.md as SVG: training steps relative to TensorFlow 1.15.5."""

from __future__ import annotations

from html import escape

COLOURS = {
    "Stillflow": "#00796b", "TF 2": "#f57c00", "PyTorch": "#c62828",
    "torch.compile": "#ad1457", "JAX": "#5c6bc0",
}  # fmt: skip
LEFT, WIDTH, BAR, GAP, TOP = 250, 430, 9, 8, 64
MOST = 1.5  # ratio at the right edge; longer bars end there with their number
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#37474f}"
    "@media(prefers-color-scheme:dark){text{fill:#cfd8dc}}"
)


def ratios(table: str) -> list[tuple[str, dict[str, float]]]:
    """Return the rows of training steps: title, and the ratios that it has by implementation."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    names = [cell.replace(" `compat.v1`", "").strip("`") for cell in lines[0][1:]]
    return [
        (title[6:], {name: float(cell) for name, cell in zip(names, cells) if cell})
        for title, *cells in lines[2:]
        if title.startswith("step, ")
    ]


def chart(table: str) -> str:
    """Return the SVG of the rows `step, ...` of a table of ratios."""
    body, y = [], TOP
    for title, bars in ratios(table):
        middle = y + len(bars) * BAR / 2 + 4
        body.append(f'<text x="{LEFT - 8}" y="{middle:g}" text-anchor="end">{escape(title)}</text>')
        for name, value in bars.items():
            width = max(1, WIDTH * min(value, MOST) / MOST)
            body.append(
                f'<rect x="{LEFT}" y="{y}" width="{width:.0f}" height="{BAR - 1}" '
                f'fill="{COLOURS[name]}"><title>{escape(title)}, {name}: {value:.2f}</title></rect>'
            )
            y += BAR
        y += GAP
    one = LEFT + WIDTH / MOST
    key, x = [], LEFT - 100
    shown = dict.fromkeys(name for _, bars in ratios(table) for name in bars)
    for name in shown:
        key.append(f'<rect x="{x}" y="14" width="12" height="12" fill="{COLOURS[name]}"/>')
        key.append(f'<text x="{x + 17}" y="25">{name}</text>')
        x += 112
    axis = (
        f'<line x1="{one:.0f}" y1="{TOP - 8}" x2="{one:.0f}" y2="{y}" stroke="#78909c" '
        f'stroke-dasharray="4 3"/><text x="{one:.0f}" y="{TOP - 14}" text-anchor="middle">'
        "TensorFlow 1.15.5 = 1</text>"
    )
    size = f"0 0 {LEFT + WIDTH + 40} {y + 8}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img">'
    lines = [head, f"<style>{STYLE}</style>", *key, axis, *body, "</svg>"]
    return "\n".join(lines) + "\n"
