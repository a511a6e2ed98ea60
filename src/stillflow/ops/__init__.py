"""Op cards by family, with the public functions that wrap them.

Importing any of them gives tensors their operators.
"""

from __future__ import annotations

import importlib
import pkgutil

from stillflow.graph.card import load_families
from stillflow.ops import conversions as conversions
from stillflow.ops import operators as operators

_SOURCES = f"{__name__}.torch_sources"
_loaded = False


def load_all() -> None:
    """Import every module of cards below this package."""
    global _loaded
    if _loaded:
        return
    for module in pkgutil.walk_packages(__path__, __name__ + "."):
        if module.name.startswith(_SOURCES):  # they add to cards, for exporters alone
            continue
        importlib.import_module(module.name)
    _loaded = True


load_families.provide(load_all)
