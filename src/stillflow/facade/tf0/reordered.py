"""Functions whose parameters stood in another order, or had other names, before 1.0.

Libraries written for 1.x may run in the same program. Where the arguments themselves tell which
order is meant, both work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.facade.tf0.tables import REORDERED


@functools.cache
def reordered(public: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a public name of 0.x meant.

    Args:
      public: a key of ``tables.REORDERED``.
      function: its successor.
    """
    _, parameters = REORDERED[public]
    order = [word.partition("=")[0] for word in parameters.split()]
    today = {
        old: new for old, _, new in (word.partition("=") for word in parameters.split()) if new
    }
    is_todays = _TODAYS_ORDER.get(public)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_todays is not None and is_todays(args):
            return function(*args, **kwargs)
        if len(args) > len(order):
            raise TypeError(f"{public}() takes {len(order)} arguments ({len(args)} given)")
        given = dict(zip(order, args, strict=False))
        for name in kwargs:
            if name in given:
                raise TypeError(f"{public}() got multiple values for argument {name!r}")
        given.update(kwargs)
        return function(**{today.get(name, name): value for name, value in given.items()})

    return call


def is_scalar(value: Any) -> bool:
    """Return whether an argument is one number, as an axis is: of Python, NumPy, or a tensor."""
    if hasattr(value, "get_shape"):
        return bool(value.get_shape().ndims == 0)
    return np.ndim(value) == 0


def _values_first(args: tuple[Any, ...]) -> bool:
    return bool(args) and not is_scalar(args[0])


def _labels_third(args: tuple[Any, ...]) -> bool:
    if len(args) < 3:
        return False
    dtype = getattr(args[2], "dtype", None)
    return dtype is not None and np.issubdtype(getattr(dtype, "as_numpy_dtype", dtype), np.integer)


def _sparse_first(args: tuple[Any, ...]) -> bool:
    return bool(args) and hasattr(args[0], "dense_shape")


_TODAYS_ORDER: dict[str, Callable[[tuple[Any, ...]], bool]] = {
    "concat": _values_first,
    "split": _values_first,
    "nn.nce_loss": _labels_third,
    "nn.sampled_softmax_loss": _labels_third,
    "nn.ctc_loss": _sparse_first,
}
