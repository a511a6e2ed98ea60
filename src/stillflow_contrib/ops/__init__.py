"""Cards of the operations that only contrib uses, with the functions that wrap them.

Graphs may name any of them: the registry of cards imports this package when it looks for a card
that no module imported so far has.
"""

from __future__ import annotations

import importlib
import pkgutil

from stillflow.graph.card import load_contrib_families

_loaded = False


def load_all() -> None:
    """Import every module of cards below this package."""
    global _loaded
    if _loaded:
        return
    for module in pkgutil.walk_packages(__path__, __name__ + "."):
        importlib.import_module(module.name)
    _loaded = True


load_contrib_families.provide(load_all)
