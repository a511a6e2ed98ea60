"""TensorFlow 1.15's Python API, computed by PyTorch.

`import stillflow as tf`, or run an unmodified program that says `import tensorflow as tf` with
`python -m stillflow program.py`. The public names are imported when they are first used.
"""

from __future__ import annotations

import atexit
import os

import stillflow._providers  # noqa: F401 (connects the layers)
from stillflow._leaving import leave_quickly
from stillflow._namespace import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    def __getattr__(name: str) -> Any: ...


# Programs ask the module they know as `tf` for TensorFlow's version, not for ours.
__version__ = "1.15.5"
__stillflow_version__ = "0.1.0"

attach(__name__)
atexit.register(leave_quickly)  # the first, to run after the handlers that programs register

# A thread of GNU's OpenMP, which torch brings along, keeps its processor for a dozen milliseconds
# while it waits for the others: as long as another process wants it, so long may every kernel take.
# It reads this when torch is imported; half a millisecond outlasts what is between two kernels.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")


def install(shadow: bool = True, revive: bool = True) -> None:
    """Serve the name `tensorflow` in this process from now on.

    Args:
      shadow: whether to take the place of a TensorFlow that is installed but not imported.
      revive: whether to bring back what Python and NumPy have removed since TensorFlow 1.15.

    Raises:
      ImportError: A real TensorFlow is already imported in this process.
    """
    from stillflow.facade.install import install_and_revive

    install_and_revive(shadow, revive)


def uninstall() -> None:
    """Stop serving the name `tensorflow`; modules that a program has imported keep working."""
    from stillflow.facade.install import uninstall as stop

    stop()


def load_ipython_extension(shell: object) -> None:
    """Serve `tensorflow` in a notebook: `%load_ext stillflow`."""
    from stillflow.facade.notebook import load

    load(shell)
