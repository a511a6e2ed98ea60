"""Start TensorBoard so that it reads checkpoints too, as its projector does, without TensorFlow.

Arguments are TensorBoard's own: --logdir, --port, --bind_all and so on.
"""

from __future__ import annotations

import importlib.util
import os
import sys


def main(arguments: list[str]) -> int:
    """Start TensorBoard; returns the exit status once it is stopped."""
    if importlib.util.find_spec("tensorboard") is None:
        print("stillflow: install TensorBoard first: pip install tensorboard", file=sys.stderr)
        return 1
    from stillflow.cli.run import run

    # TensorBoard, which else finds no tensorflow, takes the one that is served.
    allowed = os.environ.get("STILLFLOW_ALLOW", "")
    os.environ["STILLFLOW_ALLOW"] = ",".join(filter(None, [allowed, "tensorboard"]))
    # The loader in Go reads no more than events; the projector's files are read by Python.
    run(["-m", "tensorboard.main", "--load_fast=false", *arguments], revive=True)
    return 0
