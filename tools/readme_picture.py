"""The README's picture, drawn from the demo's output, here and under TensorFlow 1.15.5.

make demo | tee out/stillflow.txt
(cd examples && PYTHON_WITH_TF115 mnist_cnn.py) | tee out/tensorflow.txt
python tools/readme_picture.py out/stillflow.txt out/tensorflow.txt docs/mnist_cnn.svg
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

EPOCH = re.compile(
    r"epoch +\d+ +step +(?P<step>\d+) +loss +(?P<loss>\S+) +test accuracy +(?P<accuracy>\S+)"
)
STYLES = {
    "TensorFlow 1.15.5": {"color": "#b0b0b0", "linewidth": 6, "solid_capstyle": "round"},
    "Stillflow": {"color": "#d9480f", "linewidth": 2, "marker": "o", "markersize": 5},
}


def read(path: str) -> dict[str, list[float]]:
    """Return the columns of the demo's progress lines.

    Raises:
      ValueError: The file has no such lines.
    """
    rows = [match.groupdict() for match in EPOCH.finditer(Path(path).read_text())]
    if not rows:
        raise ValueError(f"{path} holds no progress lines of examples/mnist_cnn.py")
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def draw(runs: dict[str, dict[str, list[float]]], target: str) -> None:
    """Two panels: the loss and the test accuracy, by step."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "stillflow"  # the same picture is the same file
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
    for name, run in runs.items():
        left.plot(run["step"], run["loss"], label=name, **STYLES[name])
        right.plot(run["step"], run["accuracy"], label=name, **STYLES[name])
    left.set(xlabel="step", ylabel="training loss", ylim=(0, None))
    right.set(xlabel="step", ylabel="accuracy on 1,000 held-out digits", ylim=(None, 1))
    left.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


def main() -> None:
    ours, theirs, target = sys.argv[1:]
    draw({"TensorFlow 1.15.5": read(theirs), "Stillflow": read(ours)}, target)


if __name__ == "__main__":
    main()
