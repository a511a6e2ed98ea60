"""tf.ConditionalAccumulator and tf.SparseConditionalAccumulator."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.math.cast import cast
from stillflow.ops.queues.accumulator_cards import cards


def _step(value: Any) -> Tensor:
    return cast(convert_to_tensor(value), dtypes.int64)


@export("ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """Base of accumulators of gradients.

    Args:
      dtype: of the gradients.
      shape: of the gradients, or None.
      accumulator_ref: the tensor that stands for it.
    """

    _prefix = ""

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = dtype
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        """The tensor that stands for it."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the operation that made it."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The type of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Return the number of accumulated gradients, an int32 scalar."""
        name = f"{self._name}_NumAccumulated" if name is None else name
        count: Tensor = cards[f"{self._prefix}AccumulatorNumAccumulated"](
            self._accumulator_ref, name=name
        )
        return count

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Says which step it is; gradients of earlier ones are left out from now on."""
        operation: Operation = cards[f"{self._prefix}AccumulatorSetGlobalStep"](
            self._accumulator_ref, _step(new_global_step), name=name
        )
        return operation


@export("ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Gathers dense gradients.

    Args:
      dtype: of the gradients.
      shape: of the gradients, or None.
      shared_name: under which sessions share it.
      name: of the operation.
      reduction_type: "MEAN" or "SUM".
    """

    _prefix = "Resource"

    def __init__(
        self, dtype: Any, shape: Any = None, shared_name: str | None = None,
        name: str = "conditional_accumulator", reduction_type: str = "MEAN",
    ) -> None:  # fmt: skip
        reference = cards["ResourceConditionalAccumulator"](
            dtype=dtype, shape=TensorShape(shape), shared_name=shared_name, name=name,
            reduction_type=reduction_type,
        )  # fmt: skip
        super().__init__(dtype, shape, reference)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Add a gradient, unless its step is over.

        Raises:
          ValueError: if its shape does not fit.
        """
        grad = convert_to_tensor(grad, self._dtype)
        grad.get_shape().assert_is_compatible_with(self._shape)
        operation: Operation = cards["ResourceAccumulatorApplyGradient"](
            self._accumulator_ref, _step(local_step), grad, name=name
        )
        return operation

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """Return the mean (or sum) of the gradients, once `num_required` have come in."""
        taken: Tensor = cards["ResourceAccumulatorTakeGradient"](
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        taken.set_shape(self._shape)
        return taken


@export("sparse.SparseConditionalAccumulator", "SparseConditionalAccumulator")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Gathers slices of gradients.

    Args:
      dtype: of the gradients.
      shape: of the gradients, or None.
      shared_name: under which sessions share it.
      name: of the operation.
      reduction_type: "MEAN" or "SUM".
    """

    def __init__(
        self, dtype: Any, shape: Any = None, shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator", reduction_type: str = "MEAN",
    ) -> None:  # fmt: skip
        reference = cards["SparseConditionalAccumulator"](
            dtype=dtype, shape=TensorShape(shape), shared_name=shared_name, name=name,
            reduction_type=reduction_type,
        )  # fmt: skip
        super().__init__(dtype, shape, reference)

    def apply_indexed_slices_grad(
        self, grad: Any, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """Add an `IndexedSlices`, unless its step is over."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self, grad_indices: Any, grad_values: Any, grad_shape: Any = None, local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:  # fmt: skip
        """Add slices, unless their step is over.

        Args:
          grad_indices: which slices, a vector.
          grad_values: the slices, stacked.
          grad_shape: the shape of the whole, or None.
          local_step: their step.
          name: of the operation.
        """
        step = _step(local_step)
        operation: Operation = cards["SparseAccumulatorApplyGradient"](
            self._accumulator_ref, step, cast(grad_indices, dtypes.int64), grad_values,
            cast([] if grad_shape is None else grad_shape, dtypes.int64),
            has_known_shape=grad_shape is not None, name=name,
        )  # fmt: skip
        return operation

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Return indices, values and shape of the average of `num_required` gradients."""
        return cards["SparseAccumulatorTakeGradient"](
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """Return the average as an `IndexedSlices`, once `num_required` gradients arrived."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(indices=taken.indices, values=taken.values, dense_shape=taken.shape)
