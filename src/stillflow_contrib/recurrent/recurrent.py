"""`tf.contrib.recurrent.Recurrent`: a cell over time, as a loop whose gradient is a loop.

Names of the library's functions depend on their descriptions, which are the docstrings here: they
have to be TensorFlow's for graphs to be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow import nest
from stillflow.functional.defun import Defun, get_extra_args
from stillflow.functional.functional_ops import For, If
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.recurrent import structures

if TYPE_CHECKING:
    from stillflow.functional.defun import DefinedFunction


_flatten = nest.flatten


def _check_pure(which: str) -> None:
    captured = get_extra_args()
    assert not captured, f"{which} is not pure with extra args: {captured}."


class _Recurrent:
    """The functions of one network; arguments are those of `Recurrent`."""

    def __init__(
        self, cell_fn: Any, cell_grad: Any, theta: Any, state0: Any, inputs: Any,
        max_input_length: Any, extras: Any, use_tpu: bool, aligned_end: bool,
    ) -> None:  # fmt: skip
        self._theta, self._state, self._inputs, self._extras = theta, state0, inputs, extras
        if max_input_length is None:
            max_input_length = tf.reduce_max(tf.shape(_flatten(inputs)[0])[0])
        self._max_input_length = max_input_length
        self._cell_fn, self._cell_grad = cell_fn, cell_grad
        self._use_tpu, self._aligned_end = use_tpu, aligned_end
        # The time of the loop, and the time by which rows are set, where the device has it.
        self._times = (tf.int32, tf.int32 if use_tpu else tf.int64)

    def compute(self) -> tuple[Any, Any]:
        """All states [time, ...], and the last one."""
        arguments = self._forward_template
        found = self._forward()(*_flatten(arguments))
        states, last, _ = structures.packed(found, [self._state, self._state, self._extras])
        return states, last

    @property
    def _forward_template(self) -> list[Any]:
        return [self._theta, self._state, self._inputs, self._max_input_length, self._extras]

    def _on_device(self, time: Any) -> Tensor:
        return tf.cast(time, self._times[1])

    def _step(self) -> DefinedFunction:
        template = [self._theta, self._state, self._inputs]

        @Defun(*structures.types(template))
        def Fwd(*args: Any) -> list[Tensor]:
            theta, state0, inputs = structures.packed(args, template)
            state1, extras = self._cell_fn(theta, state0, inputs)
            _check_pure("cell_fn")
            return _flatten([state1, extras])

        return Fwd

    def _forward_body(self) -> DefinedFunction:
        template = [self._theta, self._state, self._inputs, self._state, self._extras]
        step = self._step()

        @Defun(*self._times, *structures.types(template))
        def ForwardLoopBody(*args: Any) -> list[Tensor]:
            """The body of forward loop."""
            time, device_time = args[:2]
            theta, state0, inputs, states, extras = structures.packed(args[2:], template)
            found = step(*_flatten([theta, state0, structures.row(inputs, time)]))
            state1, extra = structures.packed(found, [self._state, self._extras])
            states = structures.updated(states, state1, device_time)
            extras = structures.updated(extras, extra, device_time)
            values = [theta, state1, inputs, states, extras]
            return [tf.add(device_time, 1), *_flatten(values)]

        return ForwardLoopBody

    def _forward(self) -> DefinedFunction:
        template = self._forward_template
        body = self._forward_body()

        @Defun(
            *structures.types(template),
            python_grad_func=self._gradient(),
            noinline=not self._use_tpu,
        )
        def Forward(*args: Any) -> list[Tensor]:
            """Forward pass of the recurrent net."""
            theta, state0, inputs, max_length, extras = structures.packed(args, template)
            length = structures.length(inputs)
            states = structures.empty_rows(length, state0)
            all_extras = structures.empty_rows(length, extras)
            start = length - max_length if self._aligned_end else 0
            values = [theta, state0, inputs, states, all_extras]
            run = For(
                start=start,
                limit=length if self._aligned_end else max_length,
                delta=1,
                inputs=[self._on_device(start), *_flatten(values)],
                body=body,
                rewrite_with_while=self._use_tpu,
            )
            looped = [self._theta, self._state, self._inputs, self._state, self._extras]
            _, last, _, states, all_extras = structures.packed(run[1:], looped)
            return _flatten([states, last, all_extras])

        return Forward

    def _gradient(self) -> Callable[..., Any]:
        """Return the gradient of `Forward`, of its node and those of its results."""
        backward = self._backward()

        def Grad(op: Any, *args: Any) -> tuple[Tensor, ...]:
            grads = [
                tf.zeros_like(op.outputs[i]) if grad is None else grad
                for i, grad in enumerate(args)
            ]
            theta, state0, inputs, max_length, _ = structures.packed(
                list(op.inputs), self._forward_template
            )
            results = [self._state, self._state, self._extras]
            states, _, extras = structures.packed(list(op.outputs), results)
            d_states, d_last, _ = structures.packed(grads, results)
            given = [theta, state0, inputs, max_length, states, extras, d_states, d_last]
            return backward(*_flatten(given))

        return Grad

    def _back_step(self) -> DefinedFunction:
        template = [self._theta, self._state, self._inputs, self._extras, self._state]

        @Defun(*structures.types(template))
        def Bak(*args: Any) -> list[Tensor]:
            """Backward step."""
            theta, state0, inputs, extras, d_state1 = structures.packed(args, template)
            grads = list(self._cell_grad(theta, state0, inputs, extras, d_state1))
            _check_pure("cell_grad")
            return _flatten(structures.without_nones([theta, state0, inputs], grads))

        return Bak

    def _state_choice(self) -> tuple[Any, Any]:
        """Functions that give the second and the first of two states."""
        template = [self._state, self._state]

        def choice(name: str, description: str, place: int) -> DefinedFunction:
            def function(*args: Any) -> list[Tensor]:
                return _flatten(structures.packed(args, template)[place])

            # TensorFlow's names and descriptions of the functions, as they stand in the graph.
            function.__name__, function.__doc__ = name, description
            return Defun(*structures.types(template))(function)

        return (
            choice("ReturnOrigState0", "Returns original state0 from inputs.", 1),
            choice("ReturnAccState", "Returns acc_state[t-1] from inputs.", 0),
        )

    @property
    def _backward_template(self) -> list[Any]:
        theta, state, inputs = self._theta, self._state, self._inputs
        return [theta, state, inputs, state, self._extras, theta, state, inputs, state]

    def _backward_body(self) -> DefinedFunction:
        template = self._backward_template
        step, choice = self._back_step(), self._state_choice()

        @Defun(*self._times, *structures.types(template))
        def BackwardLoopBody(*args: Any) -> list[Tensor]:
            """Backward loop body function."""
            time, device_time = args[:2]
            theta, first, inputs, states, extras, d_theta, d_state1, d_inputs, d_states = (
                structures.packed(args[2:], template)
            )
            # The state before the first time is not among those that were kept.
            before = structures.row(states, tf.maximum(0, time - 1))
            is_first = tf.equal(time, tf.constant(0, tf.int32))
            state0 = structures.packed(If(is_first, _flatten([before, first]), *choice), first)
            now, extra = structures.row(inputs, time), structures.row(extras, time)
            d_state1 = structures.added(structures.row(d_states, time), d_state1)
            found = step(*_flatten([theta, state0, now, extra, d_state1]))
            d_theta_now, d_state0, d_now = structures.packed(
                found, [self._theta, self._state, self._inputs]
            )
            d_theta = structures.added(d_theta, d_theta_now)
            d_inputs = structures.updated(d_inputs, d_now, device_time)
            kept = [theta, first, inputs, states, extras]
            values = [*kept, d_theta, d_state0, d_inputs, d_states]
            return [tf.subtract(device_time, 1), *_flatten(values)]

        return BackwardLoopBody

    def _backward(self) -> DefinedFunction:
        theta, state, inputs = self._theta, self._state, self._inputs
        template = [
            theta, state, inputs, self._max_input_length, state, self._extras, state, state
        ]  # fmt: skip
        body = self._backward_body()

        @Defun(*structures.types(template), noinline=not self._use_tpu)
        def Backward(*args: Any) -> list[Tensor]:
            """Backward pass for the recurrent net."""
            theta, state0, inputs, max_length, states, extras, d_states, d_state1 = (
                structures.packed(args, template)
            )
            d_theta, d_inputs = structures.empty_like(theta), structures.empty_like(inputs)
            length = structures.length(inputs)
            start = length - 1 if self._aligned_end else max_length - 1
            device_start = self._on_device(start)
            limit = length - max_length - 1 if self._aligned_end else -1
            kept = [theta, state0, inputs, states, extras]
            run = For(
                start=start,
                limit=limit,
                delta=-1,
                inputs=[device_start, *_flatten([*kept, d_theta, d_state1, d_inputs, d_states])],
                body=body,
                rewrite_with_while=self._use_tpu,
            )
            *_, extras, d_theta, d_state0, d_inputs, _ = structures.packed(
                run[1:], self._backward_template
            )
            no_gradient = tf.constant(0, dtype=max_length.dtype)
            return _flatten([d_theta, d_state0, d_inputs, no_gradient, extras])

        return Backward


def _cell_gradient(cell_fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the gradient of a cell, by `tf.gradients`."""

    def cell_grad(theta: Any, state0: Any, inputs: Any, extras: Any, dstate1: Any) -> list[Any]:
        state1, _ = cell_fn(theta, state0, inputs)
        given = [theta, state0, inputs]
        grads = tf.gradients(ys=_flatten([state1]), xs=_flatten(given), grad_ys=_flatten([dstate1]))
        return structures.without_nones(given, structures.packed(grads, given))

    return cell_grad


def _is_single(inputs: Any, max_input_length: Any) -> bool:
    """Return True if there is one time, and that is known."""
    if not isinstance(max_input_length, Tensor):
        return bool(max_input_length == 1)
    shapes = [tensor.shape for tensor in _flatten(inputs)]
    return all(shape.dims is not None and shape[0].value == 1 for shape in shapes)


@export("contrib.recurrent.Recurrent")
def Recurrent(
    theta: Any, state0: Any, inputs: Any, cell_fn: Callable[..., Any],
    cell_grad: Callable[..., Any] | None = None, extras: Any = None, max_input_length: Any = None,
    use_tpu: bool = False, aligned_end: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Call a cell at every time.

    Args:
      theta: nested tensors that the cell sees every time.
      state0: the nested state to begin with.
      inputs: nested tensors [time, ...].
      cell_fn: of `theta`, state and inputs of a time; gives the next state, and extras for
        `cell_grad`. It captures nothing.
      cell_grad: of `theta`, state, inputs, extras and the gradient of the next state; gives those
        of the first three. By default `tf.gradients` of the cell.
      extras: nested tensors like the extras of the cell; found out by default.
      max_input_length: how many times count, a scalar; all by default.
      use_tpu: whether loops are `While`, not `For`.
      aligned_end: whether the last times count, not the first.

    Returns:
      (all states [time, ...], the last state).
    """
    if cell_grad is None and _is_single(inputs, max_input_length):
        now = nest.map_structure(lambda tensor: tf.squeeze(tensor, axis=0), inputs)
        state1, _ = cell_fn(theta, state0, now)
        states = nest.map_structure(lambda tensor: tf.expand_dims(tensor, axis=0), state1)
        return states, state1
    _, found = cell_fn(theta, state0, structures.row(inputs, 0))
    if extras is None:
        extras = nest.map_structure(tf.zeros_like, found)
    network = _Recurrent(
        cell_fn, cell_grad or _cell_gradient(cell_fn), theta, state0, inputs, max_input_length,
        extras, use_tpu, aligned_end,
    )  # fmt: skip
    computed: tuple[Any, Any] = network.compute()
    return computed
