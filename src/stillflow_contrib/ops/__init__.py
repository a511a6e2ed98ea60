"""Cards of the operations that only contrib uses, with the functions that wrap them.

Graphs may name any of them: the registry of cards imports this package when it looks for a card
that no module imported so far has.
"""

from __future__ import annotations

import functools

from stillflow.graph.card import load_contrib_families
from stillflow.ops import import_below

load_contrib_families.provide(functools.partial(import_below, __name__))
