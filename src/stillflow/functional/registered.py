"""``tensorflow.python.eager.function``: functions made by `defun`, and their registration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.functional import polymorphic
from stillflow.functional.concrete import ConcreteFunction


class Function(polymorphic.Function):
    """A Python function that is built into a graph once for every kind of arguments.

    Args:
      python_function: the function.
      name: with which the names of its traces end.
      input_signature: a sequence of `tf.TensorSpec`, if the kinds of arguments are fixed.
      attributes: of the definitions, as `AttrValue` messages or plain values.
      autograph: whether Python's `if`, `while` and `for` over tensors are converted.
      autograph_options: features of `tf.autograph.experimental.Feature`.
      experimental_relax_shapes: whether tensors of ever other shapes have one trace.
      capture_by_value: whether variables are read once, when a trace is made.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Any = None,
        attributes: dict[str, Any] | None = None,
        autograph: bool = True,
        autograph_options: Any = None,
        experimental_relax_shapes: bool = False,
        capture_by_value: bool | None = None,
    ) -> None:
        super().__init__(
            python_function, name, input_signature, attributes, experimental_relax_shapes,
            autograph=(autograph, autograph_options),
        )  # fmt: skip
        self._reads_by_value = capture_by_value


def register(func: Any, *args: Any, **kwargs: Any) -> ConcreteFunction:
    """Add a function and those of its gradient to the default graph's library; give the first.

    Args:
      func: a result of `defun`.
      *args, **kwargs: arguments, or `tf.TensorSpec`s, for which it is traced.

    Raises:
      ValueError: if `func` is anything else.
    """
    if not isinstance(func, polymorphic.Function) or func._may_run_eagerly:
        raise ValueError(f"Only defun function is allowed to be registered. Got type: {type(func)}")
    concrete = func.get_concrete_function(*args, **kwargs)
    concrete.add_to_graph(register_gradient_functions=True)
    return concrete
