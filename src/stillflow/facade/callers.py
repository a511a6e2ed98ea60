"""Who is asking for ``tensorflow``.

Some libraries only probe for TensorFlow, to offer extras over it that need the real one.  They
see none, unless ``STILLFLOW_ALLOW`` names them ("keras,tensorboard").
"""

from __future__ import annotations

import os
import sys
from types import FrameType

PROBING = frozenset({
    "accelerate", "datasets", "huggingface_hub", "keras", "tensorboard", "tensorboardX", "torch",
    "transformers", "wandb",
})
_MACHINERY = frozenset({"importlib", "_frozen_importlib", "_frozen_importlib_external", "pkgutil",
                        "stillflow"})


def denied() -> bool:
    """Return whether the code that imports or looks up right now belongs to such a library."""
    asking = _caller().partition(".")[0]
    return asking in PROBING and asking not in os.environ.get("STILLFLOW_ALLOW", "").split(",")


def _caller() -> str:
    """Return the module of the first frame outside of the import machinery, "" if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in _MACHINERY:
            return name
        frame = frame.f_back
    return ""
