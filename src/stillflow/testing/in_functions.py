"""Tests, and their assertions on values, inside of functions that a graph runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from stillflow.functional.polymorphic import function
from stillflow.graph.eager_mode import eager_mode
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.py_func import py_func
from stillflow.variables.base import VariableV2


def py_func_if_in_function(f: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function look at values when the graph runs, where a `tf.function` is being built.

    Arguments of `f` that are tensors or variables are given their values.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if not get_default_graph()._building_function:
            return f(*args, **kwargs)
        places = [at for at, arg in enumerate(args) if isinstance(arg, (Tensor, VariableV2))]

        def look(*values: Any) -> Any:
            given = list(args)
            for at, value in zip(places, values, strict=True):
                given[at] = value
            return f(*given, **kwargs)

        return py_func(look, [args[at] for at in places], [])

    return decorated


def also_run_as_tf_function(f: Callable[..., Any]) -> Callable[..., None]:
    """Run a test with operations that run when called, and again as a `tf.function`.

    The test may use the assertions on values; in the function they run with it.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> None:
        def bound() -> None:
            f(*args, **kwargs)

        with eager_mode():
            bound()
            function(bound)()

    return decorated
