"""Functions that are told of every operation that runs when it is called.

`tensorflow.python.eager.execution_callbacks` has them: to inspect results, and to raise an error
for those that are not finite (`seterr`, `errstate`).
"""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stillflow.graph.dtypes import DType
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging

Callback = Callable[..., Any]

# In the order in which they are called.
active: list[Callback] = []


@export("contrib.eager.ExecutionCallback")
class ExecutionCallback(enum.Enum):
    """Action on results that are infinite or NaN."""

    IGNORE = "ignore"
    PRINT = "print"
    RAISE = "raise"
    WARN = "warn"


class InfOrNanError(Exception):
    """A result that is infinite or not a number.

    Attributes:
      op_type, op_name: of the operation; the name is None if it was given none.
      output_index, num_outputs: which of its results it is.
      value: an array.
    """

    def __init__(
        self, op_type: str, op_name: str | None, output_index: int, num_outputs: int, value: Any
    ) -> None:
        self.op_type, self.op_name = op_type, op_name
        self.output_index, self.num_outputs, self.value = output_index, num_outputs, value
        super().__init__(self._message())

    def _message(self) -> str:
        found = {"inf(s)": np.isinf(self.value).sum(), "nan(s)": np.isnan(self.value).sum()}
        counts = " and ".join(f"{count} {what}" for what, count in found.items() if count)
        return (
            f"Output {self.output_index + 1} of {self.num_outputs} of TFE operation {self.op_type} "
            f"(name: {self.op_name!r}) contains {counts} out of a total of "
            f"{np.size(self.value)} element(s). Tensor value: {self.value}"
        )


def tell(
    op_type: str, inputs: Sequence[Any], attrs: Mapping[str, Any], outputs: Sequence[Any], name: Any
) -> None:
    """Call the callbacks, which may raise; operations inside of a callback are not reported."""
    flat: list[Any] = []
    for key, value in attrs.items():
        flat += [key, value._type_enum if isinstance(value, DType) else value]
    told = active[:]
    active.clear()
    try:
        for callback in told:
            callback(op_type, list(inputs), tuple(flat), list(outputs), name)
    finally:
        active[:0] = told


@export("contrib.eager.add_execution_callback")
def add_execution_callback(callback: Callback) -> None:
    """Has a function called after every operation that runs when it is called.

    Args:
      callback: `f(op_type, inputs, attrs, outputs, op_name)`; attrs are names and values in turn.
    """
    active.append(callback)


@export("contrib.eager.clear_execution_callbacks")
def clear_execution_callbacks() -> None:
    """Has none of them called any more."""
    active.clear()


@export("contrib.eager.inf_nan_callback")
def inf_nan_callback(
    op_type: str,
    inputs: Any,
    attrs: Any,
    outputs: Sequence[Any],
    op_name: str | None,
    check_inf: bool = True,
    check_nan: bool = True,
    action: Any = ExecutionCallback.RAISE,
) -> None:
    """Check results for infinities and NaN, as a callback.

    Args:
      op_type, inputs, attrs, outputs, op_name: what callbacks are told.
      check_inf, check_nan: what it looks for.
      action: an `ExecutionCallback`, or the value of one.

    Raises:
      InfOrNanError: if it finds one and the action is `RAISE`.
      ValueError: if there is no such action.
    """
    del inputs, attrs
    action = ExecutionCallback(action)
    for index, output in enumerate(outputs):
        if not (output.dtype.is_floating or output.dtype.is_complex):
            continue
        value = output.numpy()
        found = (check_inf and np.isinf(value).any()) or (check_nan and np.isnan(value).any())
        if found:
            _act(action, InfOrNanError(op_type, op_name, index, len(outputs), value))


def _act(action: ExecutionCallback, error: InfOrNanError) -> None:
    if action is ExecutionCallback.RAISE:
        raise error
    if action is ExecutionCallback.PRINT:
        print(f"Warning: {error}")
    elif action is ExecutionCallback.WARN:
        logging.warn(str(error))
    else:
        raise ValueError(
            f"Invalid action for inf_nan_callback: {action}. Valid actions are: "
            "{PRINT | WARN | RAISE}"
        )


@export("contrib.eager.inf_callback")
def inf_callback(
    op_type: str,
    inputs: Any,
    attrs: Any,
    outputs: Sequence[Any],
    op_name: str | None,
    action: Any = ExecutionCallback.RAISE,
) -> None:
    """Check for infinities only; see `inf_nan_callback`."""
    inf_nan_callback(op_type, inputs, attrs, outputs, op_name, check_nan=False, action=action)


@export("contrib.eager.nan_callback")
def nan_callback(
    op_type: str,
    inputs: Any,
    attrs: Any,
    outputs: Sequence[Any],
    op_name: str | None,
    action: Any = ExecutionCallback.RAISE,
) -> None:
    """Check for NaN only; see `inf_nan_callback`."""
    inf_nan_callback(op_type, inputs, attrs, outputs, op_name, check_inf=False, action=action)


def _action_of(callback: Callback) -> ExecutionCallback | None:
    """Return the action of a callback on non-finite results; None if it does not check them."""
    if callback is inf_nan_callback:
        return ExecutionCallback.RAISE
    if isinstance(callback, functools.partial) and callback.func is inf_nan_callback:
        return ExecutionCallback(callback.keywords.get("action", ExecutionCallback.RAISE))
    return None


@export("contrib.eager.seterr")
def seterr(inf_or_nan: Any = None) -> dict[str, ExecutionCallback]:
    """Set the action on results that are infinite or NaN.

    Args:
      inf_or_nan: an `ExecutionCallback`, or the value of one; None changes nothing.

    Returns:
      What was done before, as `{"inf_or_nan": action}`.

    Raises:
      ValueError: if there is no such action.
    """
    wanted = None if inf_or_nan is None else ExecutionCallback(inf_or_nan)
    actions = [action for callback in active if (action := _action_of(callback)) is not None]
    before = actions[-1] if actions else ExecutionCallback.IGNORE
    if wanted is not None:
        active[:] = [callback for callback in active if _action_of(callback) is None]
        if wanted is not ExecutionCallback.IGNORE:
            active.append(functools.partial(inf_nan_callback, action=wanted))
    return {"inf_or_nan": before}


@export("contrib.eager.errstate")
@contextlib.contextmanager
def errstate(inf_or_nan: Any = None) -> Iterator[None]:
    """`seterr` within a context, where operations run when they are called."""
    if not executing_eagerly():
        yield
        return
    before = seterr(inf_or_nan=inf_or_nan)
    try:
        yield
    finally:
        seterr(**before)
