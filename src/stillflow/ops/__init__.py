"""Op cards by family, with the public functions that wrap them.

Importing any of them gives tensors their operators.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys

from stillflow.graph.card import load_families
from stillflow.ops import conversions as conversions
from stillflow.ops import operators as operators

# Modules without cards: they add to cards, for exporters alone, or begin by importing torch.
_ASIDE = tuple(
    f"{__name__}.{each}" for each in ("torch_sources", "in_place", "values", "worker_calls")
)


@functools.cache
def import_below(package: str) -> None:
    """Import every module of cards below a package, once."""
    for module in pkgutil.walk_packages(sys.modules[package].__path__, f"{package}."):
        if not module.name.startswith(_ASIDE):
            importlib.import_module(module.name)


load_families.provide(functools.partial(import_below, __name__))
