"""`tf.GradientTape`: gradients of the computations within a context.

In a graph the tape builds nodes, as `tf.gradients` does, but knows only the operations that were
made while it recorded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow import nest
from stillflow.distribute import context as strategies
from stillflow.eager.attributes import make_attr as make_attr
from stillflow.eager.attributes import op_attr_type as op_attr_type
from stillflow.eager.gradient_functions import gradients_function as gradients_function
from stillflow.eager.gradient_functions import implicit_grad as implicit_grad
from stillflow.eager.gradient_functions import implicit_val_and_grad as implicit_val_and_grad
from stillflow.eager.gradient_functions import make_vjp as make_vjp
from stillflow.eager.gradient_functions import val_and_grad_function as val_and_grad_function
from stillflow.eager.tape_gradients import tape_gradients
from stillflow.graph import tapes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.ops.gradients.aggregation import sum_slices
from stillflow.ops.gradients.gradients import UnconnectedGradients
from stillflow.platform import tf_logging as logging
from stillflow.variables.base import VariableV2
from stillflow.variables.resource_variable import is_resource_variable

_INSIDE = (
    "Calling GradientTape.gradient on a persistent tape inside its context is significantly less "
    "efficient than calling it outside the context (it causes the gradient ops to be recorded on "
    "the tape, leading to increased CPU and memory usage). Only call GradientTape.gradient inside "
    "the context if you actually want to trace the gradient in order to compute higher order "
    "derivatives."
)


def _of_current_replica(variable: Any) -> tuple[Any, ...]:
    """Return the variable that a replica sees.

    All parts where operations are made for all replicas.
    """
    mode = strategies.current()
    if mode.replica is None:
        parts: tuple[Any, ...] = mode.strategy.experimental_local_results(variable)
        return parts
    return (mode.strategy.extended.value_container(variable),)


@export("GradientTape", "compat.v2.GradientTape", "contrib.eager.GradientTape")
class GradientTape:
    """Records operations, to differentiate them.

    An operation is recorded if it is made within the context and takes something watched:
    resource variables that are trainable by themselves, tensors after `watch`.

    Args:
      persistent: whether `gradient` may be called more than once.
      watch_accessed_variables: whether variables that are read are watched.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._tape: tapes.Tape | None = None
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._recording = False

    def __enter__(self) -> GradientTape:
        self._push_tape()
        return self

    def __exit__(self, typ: Any, value: Any, traceback: Any) -> None:
        if self._recording:
            self._pop_tape()

    def _push_tape(self) -> None:
        if self._recording:
            raise ValueError("Tape is already recording.")
        if self._tape is None:
            self._tape = tapes.Tape(self._persistent, self._watch_accessed_variables)
        tapes.push(self._tape)
        self._recording = True

    def _pop_tape(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        assert self._tape is not None
        tapes.pop(self._tape)
        self._recording = False

    def watch(self, tensor: Any) -> None:
        """Record computations from tensors or variables, one or a structure of them.

        Raises:
          ValueError: if something else is found.
        """
        for item in nest.flatten(tensor):
            if not isinstance(item, (Tensor, VariableV2)):
                raise ValueError(f"Passed in object of type {type(item)}, not tf.Tensor")
            if not item.dtype.is_floating:
                logging.log_first_n(
                    logging.WARN, "The dtype of the watched tensor must be floating (e.g. "
                    "tf.float32), got %r", 5, item.dtype,
                )  # fmt: skip
            tape = self._present("_tape")
            if hasattr(item, "handle"):
                for variable in _of_current_replica(item):
                    tape.watch_variable(variable)
            elif isinstance(item, Tensor):
                tape.watch(item)
            else:
                raise _not_recorded(item)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Record nothing within the context.

        Raises:
          RuntimeError: if nothing is being recorded.
        """
        if self._tape is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._pop_tape()
        try:
            yield
        finally:
            self._push_tape()

    def reset(self) -> None:
        """Forget all that was recorded and watched."""
        self._pop_tape()
        self._tape = None
        self._push_tape()

    def watched_variables(self) -> tuple[Any, ...]:
        """Return the variables that are watched, in the order in which they were made."""
        return self._present("watched_variables").watched_variables()

    def _present(self, attribute: str) -> tapes.Tape:
        """Return the tape while there is one; the error otherwise begins as TensorFlow's."""
        if self._tape is None:
            raise AttributeError(
                f"'NoneType' object has no attribute {attribute!r}\n\tThe tape is not recording "
                "yet, or `gradient` has ended it: use it in a `with` statement, and create it "
                "with persistent=True to go on after `gradient`."
            )
        return self._tape

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """Return the gradient of targets by sources.

        Args:
          target: a tensor or variable, or a structure of them.
          sources: a tensor or variable, or a structure of them.
          output_gradients: the gradient of each target, ones by default.
          unconnected_gradients: the result for sources that the targets do not depend on.

        Returns:
          A Tensor, IndexedSlices or None for each source, in the sources' structure.

        Raises:
          RuntimeError: if the tape is used up.
          ValueError: if `unconnected_gradients` is not known.
        """
        if self._tape is None:
            raise RuntimeError(
                "GradientTape.gradient can only be called once on non-persistent tapes."
            )
        if self._recording:
            if self._persistent:
                logging.log_first_n(logging.WARN, _INSIDE, 1)
            else:
                self._pop_tape()
        flat, targets = nest.flatten(sources), nest.flatten(target)
        for item in (*targets, *flat):
            if isinstance(item, VariableV2) and not hasattr(item, "handle"):
                raise _not_recorded(item)
        given = output_gradients
        if given is not None:
            given = [g if g is None else convert_to_tensor(g) for g in nest.flatten(given)]
        grads = tape_gradients(
            self._tape,
            [self._target(item) for item in targets],
            [item.handle if is_resource_variable(item) else item for item in flat],
            flat,
            given,
            unconnected_gradients,
        )
        if not self._persistent:
            self._tape = None
        return nest.pack_sequence_as(sources, grads)

    def _target(self, target: Any) -> Tensor:
        if not is_resource_variable(target):
            return target
        with self:
            return convert_to_tensor(target)

    @contextlib.contextmanager
    def _lasting(self, what: str, vectorized: bool) -> Iterator[None]:
        """Allow more than one call of `gradient` within the context.

        RuntimeError if the tape is used up, or TF would call it as often as there are elements.
        """
        before, tape = self._persistent, self._tape
        if not vectorized and not before and executing_eagerly():
            ending = "with  experimental" if what == "jacobian" else " with experimental"
            raise RuntimeError(
                f"GradientTape must be created with persistent=True to compute the {what} with "
                f"eager execution enabled and {ending}_use_pfor set to False."
            )
        if tape is None:
            raise RuntimeError(
                "GradientTape.gradient can only be called once on non-persistent tapes."
            )
        if self._recording and not before:
            self._pop_tape()
        self._persistent = tape.persistent = True
        try:
            yield
        finally:
            self._persistent = tape.persistent = before
            if not before:
                self._tape = None

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor | list[Tensor | None]:
        """Return the derivatives of each element of `target` by each element of the sources.

        Args:
          target: a tensor.
          sources: a tensor or variable, or a structure of them.
          unconnected_gradients: the result for sources that the target does not depend on.
          parallel_iterations: of the loop over the target's elements.
          experimental_use_pfor: makes no difference to the result; there is always a loop.

        Returns:
          A tensor of the target's and the source's shape, or None, for each source.
        """
        # Imported here: its loops bring functions and ragged tensors, which few programs need.
        from stillflow.eager.jacobians import jacobian

        with self._lasting("jacobian", experimental_use_pfor):
            return jacobian(self, target, sources, unconnected_gradients, parallel_iterations)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor:
        """Return the Jacobian of each example, where examples do not depend on each other.

        Args:
          target: `[batch, ...]`.
          source: `[batch, ...]`.
          unconnected_gradients: the result if the target does not depend on the source.
          parallel_iterations: of the loop over an example's elements.
          experimental_use_pfor: makes no difference to the result, as for `jacobian`.

        Returns:
          `[batch, target's other dimensions, source's other dimensions]`.

        Raises:
          ValueError: if the batch sizes differ, or there are fewer than two dimensions.
        """
        from stillflow.eager.jacobians import batch_jacobian

        with self._lasting("batch_jacobian", experimental_use_pfor):
            return batch_jacobian(self, target, source, unconnected_gradients, parallel_iterations)


def _not_recorded(variable: Any) -> AttributeError:
    """Return the error for a reference variable; its first line is TensorFlow's."""
    return AttributeError(
        f"{type(variable).__name__!r} object has no attribute '_id'\n\tA tape records resource "
        "variables only: create the variable with use_resource=True, or use tf.gradients."
    )


def aggregate_indexed_slices_gradients(grads: Any) -> Tensor | IndexedSlices | None:
    """Return the sum of Tensors, IndexedSlices or None; IndexedSlices, unless one is a Tensor."""
    found = [grad for grad in grads if grad is not None]
    return sum_slices(found) if found else None
