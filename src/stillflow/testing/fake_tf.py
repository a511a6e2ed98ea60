"""`tensorflow.python.autograph.utils.fake_tf`, which TensorFlow's own tests ask for."""

from __future__ import annotations

import importlib
from types import ModuleType


def fake_tf() -> ModuleType:
    """Return the module that tests of AutoGraph call `tf`."""
    return importlib.import_module("stillflow")
