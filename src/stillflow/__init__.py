"""TensorFlow 1.15's Python API, computed by PyTorch.

`import stillflow as tf`, or run an unmodified program that says `import tensorflow as tf` with
`python -m stillflow program.py`. The public names are imported when they are first used.
"""

from __future__ import annotations

from stillflow._namespace import attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    def __getattr__(name: str) -> Any: ...

# Programs ask the module they know as `tf` for TensorFlow's version, not for ours.
__version__ = "1.15.5"
__stillflow_version__ = "0.1.0"

attach(__name__)
