"""`tf.TensorArray`: a list of tensors that loops write and read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import colocate_with, control_dependencies, device, name_scope
from stillflow.graph.constant_value import constant_value
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.arrays.sequences import range as sequence
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.control_flow.toggles import calls_functions
from stillflow.ops.math.cast import cast
from stillflow.ops.tensor_array.cards import cards

_FLOW = 6  # the position of `flow` among the arguments
_REFUSED_WITH_HANDLE = ("size", "element_shape", "dynamic_size", "clear_after_read")


@export("TensorArray")
class TensorArray:
    """A list of tensors of one type that is filled and read while the graph runs.

    Every method that writes returns a new TensorArray: the list after the write. Only reads from
    that one are guaranteed to see the written values.

    Attributes:
      handle: the tensor that stands for the list.
      flow: a scalar that orders the operations on it.
      dtype: the type of the elements.
      element_shape: the static shape of the elements.
      dynamic_size: whether writing beyond the end makes the list longer.

    Example:
      >>> squares = tf.TensorArray(tf.int32, size=3)
      >>> for i in range(3): squares = squares.write(i, i * i)
      >>> print(tf.Session().run(squares.stack()))
      [0 1 4]
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> TensorArray:
        """Return a list if `flow` is one or branches and loops are functions.

        One that holds its values where operations run when they are called.
        """
        if cls is not TensorArray:
            return super().__new__(cls)
        flow = kwargs.get("flow", args[_FLOW] if len(args) > _FLOW else None)
        is_list = flow is not None and flow.dtype == dtypes.variant
        if executing_eagerly() and not is_list:
            from stillflow.ops.tensor_array.eager_array import EagerTensorArray

            return super().__new__(EagerTensorArray)
        if is_list or calls_functions(get_default_graph()):
            from stillflow.ops.tensor_array.list_array import ListTensorArray

            return super().__new__(ListTensorArray)
        return super().__new__(cls)

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        """Make an array, or wrap the handle and flow of one.

        Args:
          dtype: the type of the elements.
          size: how many elements it has, an int32 scalar; must be None with `handle`.
          dynamic_size: whether writes beyond the end make it longer; False by default.
          clear_after_read: whether an element is given up once read; True by default.
          tensor_array_name: a name for messages.
          handle: the handle of an array that is there.
          flow: its flow.
          infer_shape: whether all elements have the same shape, and the first write tells it.
          element_shape: the static shape of the elements.
          colocate_with_first_write_call: True to place the array with the first written value.
          name: the name of the operation.

        Raises:
          ValueError: if arguments contradict each other.
          TypeError: if `handle` is no tensor.
        """
        given = (size, element_shape, dynamic_size, clear_after_read)
        _check_arguments(handle, tensor_array_name, dict(zip(_REFUSED_WITH_HANDLE, given)))
        self._dynamic_size: bool | None = dynamic_size or False
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._colocate_with_first_write_call = colocate_with_first_write_call
        # Shared by all objects of one array: the first written value, and its shape.
        self._colocate_with: list[Any] | None = [] if colocate_with_first_write_call else None
        self._element_shape = [as_shape(element_shape)]
        self._infer_shape = infer_shape
        with name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                if flow is None:
                    raise ValueError("flow must not be None if handle is not None.")
                self._handle, self._flow = handle, flow
                return
            attrs = {
                "dtype": dtype, "element_shape": element_shape,
                "identical_element_shapes": infer_shape, "dynamic_size": self._dynamic_size,
                "clear_after_read": clear_after_read is None or clear_after_read,
                "tensor_array_name": tensor_array_name,
            }  # fmt: skip
            self._make(size, attrs, scope)

    def _make(self, size: Any, attrs: dict[str, Any], scope: str) -> None:
        if not self._colocate_with_first_write_call:
            self._handle, self._flow = cards["TensorArrayV3"](size, name=scope, **attrs)
            return
        with device(None), colocate_with(None, ignore_existing=True):
            self._handle, self._flow = cards["TensorArrayV3"](size, name=scope, **attrs)

    flow = property(lambda self: self._flow)
    dtype = property(lambda self: self._dtype)
    handle = property(lambda self: self._handle)
    element_shape = property(lambda self: self._element_shape[0])
    dynamic_size = property(lambda self: self._dynamic_size)
    # Attribute for programs that look inside TF's class.
    _implementation = property(lambda self: self)

    def _with_flow(self, flow: Any) -> TensorArray:
        """Return the same array with another flow; NotImplementedError inside of functions."""
        if self._handle is not None:
            refuse_in_functions()
        other = TensorArray(
            self._dtype,
            handle=self._handle,
            flow=flow,
            infer_shape=self._infer_shape,
            colocate_with_first_write_call=self._colocate_with_first_write_call,
        )
        other._dynamic_size = self._dynamic_size
        other._colocate_with = self._colocate_with
        other._element_shape = self._element_shape
        return other

    def _check_element_shape(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape} ")
        if self._infer_shape:
            self._element_shape[0] = self.element_shape.merge_with(shape)

    def _check_parts(self, value: Tensor, lengths: Any) -> None:
        """Record the shape of a tensor's parts, if all are of one length."""
        if lengths is None or not lengths.ndim or lengths.max() != lengths.min():
            return
        if value.shape.dims is not None:
            self._check_element_shape(TensorShape([int(lengths[0])]).concatenate(value.shape[1:]))

    @contextmanager
    def _maybe_colocate_with(self, value: Any) -> Iterator[None]:
        if self._colocate_with is None:
            yield
            return
        if not self._colocate_with:
            self._colocate_with.append(value)
        with colocate_with(self._colocate_with[0]):
            yield

    def _value(self, value: Any) -> Tensor:
        tensor: Tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if tensor.dtype != self._dtype:
            from stillflow.platform import tf_logging

            tf_logging.error(
                "Error: Input value %s has dtype %s, but expected dtype %s.  This leads to "
                "undefined behavior and will be an error in future versions of TensorFlow.",
                tensor, tensor.dtype, self._dtype,
            )  # fmt: skip
        return tensor

    def mark_used(self) -> None:
        """Do nothing: unused results are not reported."""

    def identity(self) -> TensorArray:
        """Return the same array, after everything that `control_dependencies` around this names."""
        return self._with_flow(identity(self._flow))

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        """Return the gradients' array, for the call of `tf.gradients` named `source`."""
        flow = self.flow if flow is None else flow
        with name_scope(name, "TensorArrayGrad", [self._handle]), colocate_with(self._handle):
            handle, _ = cards["TensorArrayGradV3"](self._handle, flow, source=source, name=name)
            with control_dependencies([handle]):
                flow = identity(flow, name="gradient_flow")
            grad = TensorArray(
                self._dtype,
                handle=handle,
                flow=flow,
                infer_shape=self._infer_shape,
                colocate_with_first_write_call=False,
            )
            grad._element_shape = self._element_shape
            return grad

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return the element at `index`, an int32 scalar."""
        value: Tensor = cards["TensorArrayReadV3"](
            self._handle, index, self._flow, dtype=self._dtype, name=name
        )
        value.set_shape(self.element_shape)
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with `value` at `index`.

        Raises:
          ValueError: if the shape of `value` does not fit.
        """
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = self._value(value)
            self._check_element_shape(value.shape)
            with self._maybe_colocate_with(value):
                flow = cards["TensorArrayWriteV3"](
                    self._handle, index, value, self._flow, name=name
                )
            return self._with_flow(flow)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, stacked along a new first dimension."""
        with colocate_with(self._handle), name_scope(name, "TensorArrayStack", [self._handle]):
            return self.gather(sequence(0, self.size()), name=name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the elements at `indices` (an int32 vector), stacked along a new first axis."""
        value: Tensor = cards["TensorArrayGatherV3"](
            self._handle, indices, self._flow, dtype=self._dtype, name=name,
            element_shape=self.element_shape,
        )  # fmt: skip
        if self.element_shape:
            value.set_shape(TensorShape([None]).concatenate(self.element_shape))
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, one after the other along their first dimension."""
        value: Tensor
        value, _ = cards["TensorArrayConcatV3"](
            self._handle, self._flow, dtype=self._dtype, name=name,
            element_shape_except0=self.element_shape[1:],
        )  # fmt: skip
        if self.element_shape:
            value.set_shape(TensorShape([None]).concatenate(self.element_shape[1:]))
        return value

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` as its elements."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            count = shape_of(value)[0]
            return self.scatter(sequence(0, count), value, name=name)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return the array with the rows of `value` at `indices` (an int32 vector).

        Raises:
          ValueError: if the shape of the rows does not fit.
        """
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = self._value(value)
            self._check_element_shape(value.shape[1:])
            with self._maybe_colocate_with(value):
                flow = cards["TensorArrayScatterV3"](
                    self._handle, indices, value, self._flow, name=name
                )
            return self._with_flow(flow)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Return the array with parts of `value` as its elements, cut along the first dimension.

        Args:
          value: a tensor.
          lengths: the length of each part, an integer vector.
          name: the name of the operation.

        Raises:
          ValueError: if the shape of the parts does not fit.
        """
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = convert_to_tensor(value, dtype=self._dtype, name="value")
            with self._maybe_colocate_with(value):
                lengths = cast(lengths, dtypes.int64)
                self._check_parts(value, constant_value(lengths))
                flow = cards["TensorArraySplitV3"](
                    self._handle, value, lengths, self._flow, name=name
                )
            return self._with_flow(flow)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, an int32 scalar."""
        size: Tensor = cards["TensorArraySizeV3"](self._handle, self._flow, name=name)
        return size

    def close(self, name: str | None = None) -> Operation:
        """Return an operation that gives up all elements."""
        return cards["TensorArrayCloseV3"](self._handle, name=name)


def refuse_in_functions() -> None:
    """Raise NotImplementedError for an array that is no list in a function, which needs lists."""
    if not executing_eagerly() and calls_functions(get_default_graph()):
        raise NotImplementedError(
            "Attempting to build a graph-mode TF2-style TensorArray from either an eager-mode "
            "TensorArray or a TF1-style TensorArray.  This is not currently supported.  You may be "
            "attempting to capture a TensorArray inside a tf.function or tf.data map function. "
            "Instead, construct a new TensorArray inside the function."
        )


def _check_arguments(handle: Any, array_name: str | None, given: dict[str, Any]) -> None:
    if handle is None:
        if given["size"] is None:
            raise ValueError("Size must be provided if handle is not provided")
        return
    if array_name:
        raise ValueError("Cannot construct with both handle and tensor_array_name")
    if not isinstance(handle, Tensor):
        raise TypeError("Handle must be a Tensor")
    for key in _REFUSED_WITH_HANDLE:
        if given[key] is not None:
            where = " at the same time"
            raise ValueError(f"Cannot provide both a handle and {key}{where}")


def build_ta_with_new_flow(old_ta: TensorArray, flow: Tensor) -> TensorArray:
    """Return the array `old_ta` with another flow."""
    return old_ta._with_flow(flow)
