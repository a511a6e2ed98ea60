"""Manners of 0.x that are no names: each changes one module of ours once it is imported."""

from __future__ import annotations

import functools
from typing import Any

from stillflow.facade.revive.after import after_import


def activate() -> None:
    """Have every change made when its module is imported."""
    for module, change in _CHANGES.items():
        after_import(module, change)


def _silence(deprecation: Any) -> None:
    """Silence the deprecations of 1.x: these programs are older."""
    deprecation._PRINT_DEPRECATION_WARNINGS = False


def _ignore_reuse(slot_creator: Any) -> None:
    """Let optimizers make their slots where the variable scope is in reuse mode."""
    create = slot_creator._create

    @functools.wraps(create)
    def create_anyway(*args: Any, **kwargs: Any) -> Any:
        scope = slot_creator.get_variable_scope()
        reuse, scope._reuse = scope._reuse, False
        try:
            return create(*args, **kwargs)
        finally:
            scope._reuse = reuse

    slot_creator._create = create_anyway


def _name_methods(tensor_array: Any) -> None:
    """Give `tf.TensorArray` the methods that are called stack and unstack today."""
    array = tensor_array.TensorArray
    array.pack, array.unpack = array.stack, array.unstack


_CHANGES = {
    "stillflow.ops.tensor_array.tensor_array": _name_methods,
    "stillflow.train.slot_creator": _ignore_reuse,
    "stillflow.util.deprecation": _silence,
}
