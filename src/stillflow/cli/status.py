"""Report which package ``import tensorflow`` imports in this environment."""

from __future__ import annotations

import os
import sys

from stillflow.cli import takes_nothing
from stillflow.cli.enable import location


def main(arguments: list[str]) -> int:
    """Print it; returns the exit status."""
    takes_nothing("status", arguments)
    import stillflow
    from stillflow.facade.finder import real_spec

    real = real_spec()
    enabled = os.path.exists(location())
    if real is not None:
        plain = f"the TensorFlow installed at {os.path.dirname(real.origin or '')}"
    elif enabled:
        plain = "Stillflow"
    else:
        plain = "nothing: no TensorFlow is installed, and Stillflow is not enabled"
    print(f"Stillflow {stillflow.__stillflow_version__} for {sys.executable}")
    print(f"python program.py               import tensorflow is {plain}")
    print("python -m stillflow program.py  import tensorflow is Stillflow")
    print(f"enabled: {f'yes ({location()})' if enabled else 'no'}")
    return 0
