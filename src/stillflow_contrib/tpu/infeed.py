"""tf.contrib.tpu.InfeedQueue: both ends of a queue of tensors for a computation's shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import colocate_with, device
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.arrays.splitting import split
from stillflow.ops.tpu.feeds import infeed_dequeue_tuple, infeed_enqueue_tuple
from stillflow.ops.tpu.system import core
from stillflow_contrib.tpu.sharding_policy import ShardingPolicy

_CORES_OF_HOST = 8


@export("contrib.tpu.InfeedQueue")
class InfeedQueue:
    """Queue of tensors with enqueue and dequeue operations of the same types.

    Args:
      number_of_tuple_elements: how many tensors at once; may follow from the other arguments.
      tuple_types: their types.
      tuple_shapes: their shapes, of all shards together.
      shard_dimensions: along which axis each is cut.
      name: prefix of the operations.

    Raises:
      ValueError: if it is not clear how many there are, or lengths differ, or a shape cannot be
        cut so.
      TypeError: for values that are no type or shape.
    """

    def __init__(
        self, number_of_tuple_elements: int | None = None, tuple_types: Any = None,
        tuple_shapes: Any = None, shard_dimensions: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self._frozen = self._generated_enqueue_ops = self._generated_dequeue_op = False
        self._name = "InfeedQueue" if name is None else name
        if number_of_tuple_elements is None:
            number_of_tuple_elements = _length(tuple_types, tuple_shapes, shard_dimensions)
        if number_of_tuple_elements <= 0:
            raise ValueError(f"number_of_tuple_elements {number_of_tuple_elements} must be > 0")
        self._sharding_policies = [ShardingPolicy() for _ in range(number_of_tuple_elements)]
        self._tuple_types: Any = None
        self._tuple_shapes: Any = None
        if tuple_types is not None:
            self.set_tuple_types(tuple_types)
        if tuple_shapes is not None:
            self.set_tuple_shapes(tuple_shapes)
        if shard_dimensions is not None:
            self.set_shard_dimensions(shard_dimensions)
        self._validate()

    def _validate(self) -> None:
        for policy, shape in zip(self._sharding_policies, self._tuple_shapes or ()):
            policy.get_sharded_shape(shape)

    def _check_length(self, name: str, values: Any) -> None:
        if len(values) != self.number_of_tuple_elements:
            raise ValueError(
                f"{name} is {values}, but must be a list of length {self.number_of_tuple_elements}"
            )

    @property
    def number_of_tuple_elements(self) -> int:
        """The number of tensors per element."""
        return len(self._sharding_policies)

    @property
    def tuple_types(self) -> list[DType]:
        """Their types; None if not said."""
        return self._tuple_types

    def set_tuple_types(self, tuple_types: Sequence[Any]) -> None:
        """Says the types.

        Raises:
          ValueError: if there are not so many, or others are kept.
          TypeError: for values that are no type.
        """
        self._check_length("tuple_types", tuple_types)
        if self._frozen:
            self._check_kept("type", self._tuple_types, tuple_types)
            return
        try:
            self._tuple_types = [dtypes.as_dtype(each) for each in tuple_types]
        except TypeError as error:
            raise TypeError(
                f"tuple_types is {tuple_types}, but must be a list of elements each convertible "
                f"to dtype: got error {error}"
            ) from error

    @staticmethod
    def _check_kept(what: str, kept: Sequence[Any], updated: Sequence[Any]) -> None:
        if any(old != new for old, new in zip(kept, updated, strict=True)):
            raise ValueError(
                "Trying to update InfeedQueue with frozen configuration with an incompatible "
                f"{what}. Frozen {what}s are {kept}, updated {what}s are {updated}"
            )

    @property
    def tuple_shapes(self) -> list[TensorShape]:
        """The shapes, of all shards together; None if not said."""
        return self._tuple_shapes

    def set_tuple_shapes(self, tuple_shapes: Sequence[Any]) -> None:
        """Says the shapes.

        Raises:
          ValueError: if there are not so many, or others are kept, or they cannot be cut.
          TypeError: for values that are no shape.
        """
        self._check_length("tuple_shapes", tuple_shapes)
        try:
            shapes = [as_shape(shape) for shape in tuple_shapes]
        except (ValueError, TypeError) as error:
            raise TypeError(
                f"tuple_shapes is {tuple_shapes}, but must be a list of elements each convertible "
                f"to TensorShape: got error {error}"
            ) from error
        if self._frozen:
            self._check_kept("shape", self._tuple_shapes, shapes)
        else:
            self._tuple_shapes = shapes
        self._validate()

    @property
    def sharding_policies(self) -> list[ShardingPolicy]:
        """The sharding of each tensor."""
        return self._sharding_policies

    @property
    def shard_dimensions(self) -> list[Any]:
        """Along which axis each is cut; None where not said."""
        return [policy.shard_dimension for policy in self._sharding_policies]

    def set_shard_dimensions(self, shard_dimensions: Sequence[Any]) -> None:
        """Says along which axis each is cut.

        Raises:
          ValueError: if there are not so many, or others are kept, or shapes have no such axis.
        """
        self._check_length("shard_dimensions", shard_dimensions)
        for policy, dimension in zip(self._sharding_policies, shard_dimensions, strict=True):
            policy.set_shard_dimension(dimension)
        self._validate()

    @property
    def number_of_shards(self) -> int | None:
        """Into how many shards each is cut; None if not said."""
        return self._sharding_policies[0].number_of_shards

    def set_number_of_shards(self, number_of_shards: int) -> None:
        """Says into how many shards each is cut.

        Raises:
          ValueError: if it is not positive, or another number is kept, or shapes cannot be cut.
        """
        for policy in self._sharding_policies:
            policy.set_number_of_shards(number_of_shards)
        self._validate()

    def set_configuration_from_input_tensors(self, input_tensors: Sequence[Tensor]) -> None:
        """Set types and shapes from tensors.

        Raises:
          ValueError: if there are not so many.
        """
        if len(input_tensors) != self.number_of_tuple_elements:
            raise ValueError(
                f"input_tensors is {input_tensors}, but should be a list of "
                f"{self.number_of_tuple_elements} Tensors"
            )
        self.set_tuple_shapes([tensor.shape for tensor in input_tensors])
        self.set_tuple_types([tensor.dtype for tensor in input_tensors])

    def set_configuration_from_sharded_input_tensors(
        self, input_tensors: Sequence[Sequence[Tensor]]
    ) -> None:
        """Set types and shapes from the tensors of all shards.

        Raises:
          ValueError: if a shard has not so many, or shapes do not go together.
          TypeError: if types do not.
        """
        if not self._frozen:
            self._tuple_shapes = None  # they may not fit until the end
        self.set_number_of_shards(len(input_tensors))
        for shard in input_tensors:
            if len(shard) != self.number_of_tuple_elements:
                raise ValueError(
                    f"input_tensors is {input_tensors} but must be a list of lists, where each "
                    "inner list has length number_of_tuple_elements="
                    f"{self.number_of_tuple_elements}"
                )
        columns = list(zip(*input_tensors, strict=True))
        self.set_tuple_shapes([
            policy.get_unsharded_shape([tensor.shape for tensor in column])
            for policy, column in zip(self._sharding_policies, columns, strict=True)
        ])  # fmt: skip
        for column in columns:
            if any(tensor.dtype != column[0].dtype for tensor in column):
                raise TypeError(
                    f"types of the tuple elements of input_tensors {input_tensors} are not "
                    "consistent"
                )
        self.set_tuple_types([tensor.dtype for tensor in input_tensors[0]])

    def freeze(self) -> None:
        """Keep all that was said.

        Raises:
          ValueError: if types or shapes were not.
        """
        self._frozen = True
        if self._tuple_types is None:
            raise ValueError("Can't freeze an InfeedQueue without setting all tuple types.")
        if self._tuple_shapes is None or any(shape.dims is None for shape in self._tuple_shapes):
            raise ValueError("Can't freeze an InfeedQueue without setting all tuple shapes.")
        for policy in self._sharding_policies:
            policy.freeze()
        self._validate()

    # ---- operations

    def generate_dequeue_op(self, tpu_device: int | None = 0) -> list[Tensor]:
        """Return the tensors of a shard, as a computation takes them.

        Args:
          tpu_device: on which core of the replica; where scopes say if None.

        Raises:
          ValueError: if types or shapes were not said, or there is such an operation already.
        """
        self.freeze()
        if self._generated_dequeue_op:
            raise ValueError("Can't generate two dequeue Ops from the same queue")
        self._generated_dequeue_op = True
        shapes = [
            policy.get_sharded_shape(shape)
            for shape, policy in zip(self._tuple_shapes, self._sharding_policies, strict=True)
        ]
        with device("" if tpu_device is None else core(tpu_device)):
            return infeed_dequeue_tuple(self._tuple_types, shapes, name=f"{self._name}/dequeue")

    def generate_enqueue_ops(
        self, sharded_inputs: Sequence[Sequence[Tensor]],
        tpu_ordinal_function: Callable[[int], int] | None = None,
        placement_function: Callable[[int], str] | None = None,
    ) -> list[Operation]:  # fmt: skip
        """Operations that hand over each shard's tensors.

        Args:
          sharded_inputs: the tensors of each shard.
          tpu_ordinal_function: of a shard's number, gives its device; needed on CPUs.
          placement_function: of a shard's number, gives where its operation is; with its tensors
            if None.

        Raises:
          ValueError: if tensors do not go together or with what was said, or there are such
            operations already.
          TypeError: if their types do not.
        """
        self.set_configuration_from_sharded_input_tensors(sharded_inputs)
        self._begin_enqueueing()
        return [
            self._generate_enqueue_op(
                shard,
                index,
                None if placement_function is None else placement_function(index),
                -1 if tpu_ordinal_function is None else tpu_ordinal_function(index),
            )
            for index, shard in enumerate(sharded_inputs)
        ]

    def _begin_enqueueing(self) -> None:
        self.freeze()
        if self._generated_enqueue_ops:
            raise ValueError("Can't generate two enqueue Ops from the same queue")
        self._generated_enqueue_ops = True

    def _generate_enqueue_op(
        self, inputs: Sequence[Tensor], index: int, place: str | None, ordinal: int
    ) -> Operation:
        if place is None:
            devices = [tensor.device for tensor in inputs]
            if len(set(devices)) > 1:
                raise ValueError(
                    f"input devices for shard {index} are {devices}, but should all be the same"
                )
        with colocate_with(inputs[0]) if place is None else device(place):
            return infeed_enqueue_tuple(
                inputs, [tensor.shape for tensor in inputs], device_ordinal=ordinal,
                name=f"{self._name}/enqueue/{index}",
            )  # fmt: skip

    def split_inputs_and_generate_enqueue_ops(
        self, inputs: Sequence[Tensor], device_assignment: Any = None,
        placement_function: Callable[[int], str] | None = None,
        tpu_ordinal_function: Callable[[int], int] | None = None,
    ) -> list[Operation]:  # fmt: skip
        """Operations that cut tensors into shards and hand them over.

        Args:
          inputs: the tensors.
          device_assignment: must be None: there are no devices to assign.
          placement_function, tpu_ordinal_function: as in `generate_enqueue_ops`; eight devices to
            a task if None.

        Raises:
          ValueError, TypeError: as in `generate_enqueue_ops`.
          NotImplementedError: if devices are to be assigned.
        """
        if device_assignment is not None:
            raise NotImplementedError(
                "InfeedQueue: `device_assignment` is not supported by Stillflow: TPUs are not"
            )
        place = placement_function or (
            lambda index: f"/task:{index // _CORES_OF_HOST}/device:CPU:0"
        )
        ordinal = tpu_ordinal_function or (lambda index: index % _CORES_OF_HOST)
        self.set_configuration_from_input_tensors(inputs)
        self._begin_enqueueing()
        columns = [self._cut(tensor, index) for index, tensor in enumerate(inputs)]
        return [
            self._generate_enqueue_op(shard, index, place(index), ordinal(index))
            for index, shard in enumerate(zip(*columns, strict=True))
        ]

    def _cut(self, tensor: Tensor, index: int) -> Sequence[Tensor]:
        if self.number_of_shards == 1:
            return [tensor]
        axis = self._sharding_policies[index].shard_dimension
        with colocate_with(tensor):
            return split(
                tensor, self.number_of_shards, axis=axis, name=f"{self._name}/split/{index}"
            )


def _length(*lists: Any) -> int:
    for values in lists:
        if values is not None:
            return len(values)
    raise ValueError("number of tuple elements cannot be inferred from InfeedQueue constructor")
