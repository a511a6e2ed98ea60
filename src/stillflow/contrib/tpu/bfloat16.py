"""tf.tpu.bfloat16_scope: variables of bfloat16 that are kept as float32."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.ops.math.cast import cast
from stillflow.variables.variable_scope import VariableScope, variable_scope


def _kept_as_float32(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if kwargs["dtype"] != dtypes.bfloat16:
        return getter(*args, **kwargs)
    return cast(getter(*args, **{**kwargs, "dtype": dtypes.float32}), dtypes.bfloat16)


def custom_getter() -> Callable[..., Any]:
    """Return the getter for `variable_scope` that `bfloat16_scope` uses."""
    return _kept_as_float32


@export("tpu.bfloat16_scope", "contrib.tpu.bfloat16_scope")
@contextlib.contextmanager
def bfloat16_scope() -> Iterator[VariableScope]:
    """Return a variable scope where bfloat16 variables are rounded float32 variables."""
    with variable_scope("", custom_getter=_kept_as_float32) as scope:
        yield scope
