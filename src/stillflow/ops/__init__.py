"""Op cards by family, with the public functions that wrap them.

Importing any of them gives tensors their operators.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from pathlib import Path

from stillflow.graph.card import load_families, load_family
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


@functools.cache
def _card_modules() -> dict[str, str]:
    """Return the module of each op type's card, as tools/make_card_index.py wrote it."""
    lines = Path(__file__).with_name("card_modules.txt").read_text(encoding="ascii").splitlines()
    return {kind: name for name, *kinds in map(str.split, lines) for kind in kinds}


def import_card(op_type: str) -> None:
    """Import the module of an operation's card, if it is known."""
    name = _card_modules().get(op_type)
    if name is not None:
        importlib.import_module(f"{__name__}.{name}")


load_family.provide(import_card)
load_families.provide(functools.partial(import_below, __name__))
