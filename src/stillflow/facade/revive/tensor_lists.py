"""Functions of NumPy that take lists of symbolic tensors.

``np.array([a, b])`` made an array of the two tensors, and ``np.sum([loss, penalty])`` added them
in the graph; NumPy of today asks each of them for its values, which it does not have.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from stillflow.facade.revive.after import after_import

if TYPE_CHECKING:
    from stillflow.graph.arrays import Array

_SYMBOLIC = "Cannot convert a symbolic Tensor"
_MAKERS = ("array", "asarray", "asanyarray")
_OF_ARRAYS = ("sum", "prod", "cumsum", "reshape", "squeeze", "transpose")
_OF_LISTS = ("concatenate", "hstack", "vstack")  # they take a list of lists of tensors


def activate() -> None:
    """Patch NumPy when it is imported."""
    after_import("numpy", _patch)


def _patch(numpy: Any) -> None:
    for name in (*_MAKERS, *_OF_ARRAYS, *_OF_LISTS):
        setattr(numpy, name, _taking_tensors(getattr(numpy, name), name))


def _taking_tensors(plain: Any, name: str) -> Any:
    @functools.wraps(plain)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return plain(*args, **options)
        except NotImplementedError as error:
            if _SYMBOLIC not in str(error) or not args or not isinstance(args[0], (list, tuple)):
                raise
            if options.get("dtype") is not None or (name in _MAKERS and len(args) > 1):
                raise
        return plain(_objects(args[0], name in _OF_LISTS), *args[1:], **options)

    return call


def _objects(nested: Any, of_lists: bool) -> Array | list[Any]:
    from stillflow.graph.object_arrays import object_array

    if not of_lists:
        return object_array(nested)
    return [object_array(part) if isinstance(part, (list, tuple)) else part for part in nested]
