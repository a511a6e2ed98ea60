"""tf.lite.Interpreter: runs a model of TensorFlow Lite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import errors
from stillflow.files.filesystem import open_file
from stillflow.graph.dims import is_known
from stillflow.graph.export import export
from stillflow.lite.model_tensors import Array
from stillflow.lite.schema import read_model
from stillflow.lite.translation import Subgraph, Value

# TensorFlow Lite's names of tensors' types.
_TYPE_NAMES = {
    "float32": "FLOAT32",
    "float16": "FLOAT16",
    "int32": "INT32",
    "uint8": "UINT8",
    "int64": "INT64",
    "object": "STRING",
    "bool": "BOOL",
    "int16": "INT16",
    "complex64": "COMPLEX64",
    "int8": "INT8",
}

# Errors of graph construction for an operator whose inputs do not fit.
_UNFIT = (
    ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError,
    errors.OpError,
)  # fmt: skip


@export("lite.Interpreter")
class Interpreter:
    """Interpreter of a model: allocate, set the inputs, invoke, get the outputs.

    Args:
      model_path: the file of the model.
      model_content: its bytes, instead of a file.
      experimental_delegates: not supported.

    Raises:
      ValueError: If there is no model, it is damaged, or an operator is not supported.
    """

    def __init__(
        self,
        model_path: str | None = None,
        model_content: bytes | None = None,
        experimental_delegates: Any = None,
    ) -> None:
        if model_path and model_content:
            raise ValueError("Can't both provide `model_path` and `model_content`")
        if not model_content:
            if not model_path:
                raise ValueError("`model_path` or `model_content` must be specified.")
            model_content = _read(model_path)
        if experimental_delegates:
            raise NotImplementedError("Delegates of TensorFlow Lite are not supported by Stillflow")
        self._subgraph = Subgraph(read_model(bytes(model_content)))
        if self._subgraph.lacking:
            lacking = ", ".join(sorted(self._subgraph.lacking))
            raise ValueError(f"These operators are not supported by Stillflow: {lacking}")
        self._shapes: dict[int, tuple[int, ...]] = {}  # other than the file says
        self._forget()
        self._states: dict[int, Array] = {}

    def _forget(self) -> None:
        """Discard everything that depends on the shapes of the inputs."""
        self._values: dict[int, Value] | None = None
        self._call: Any = None
        self._buffers: dict[int, Array] = {}

    def allocate_tensors(self) -> None:
        """Prepare to run with the shapes that the inputs have.

        Raises:
          RuntimeError: If the operators do not fit each other.
        """
        self._forget()
        with tf.Graph().as_default() as graph:
            try:
                values = self._subgraph.build(self._shapes)
            except _UNFIT as error:
                raise RuntimeError(f"Stillflow cannot run this model: {error}") from error
        self._session = tf.Session(graph=graph)
        inputs = self._subgraph.inputs
        fetched = [i for i in self._subgraph.outputs if isinstance(values.get(i), tf.Tensor)]
        self._fetched = [index for index in fetched if index not in inputs]
        self._call = self._session.make_callable(
            [values[index] for index in self._fetched], [values[index] for index in inputs]
        )
        self._values = values
        for index in inputs:
            self._buffers[index] = self._zeros(index, self._shapes.get(index))

    def _zeros(self, index: int, shape: Sequence[int] | None = None) -> Array:
        tensor = self._subgraph.tensors[index]
        try:
            return np.zeros(tensor.shape if shape is None else shape, tensor.dtype)
        except (MemoryError, ValueError) as error:
            raise RuntimeError(f"There is no memory for tensor {tensor.name}: {error}") from None

    def _tensor(self, index: int) -> Any:
        if not 0 <= index < len(self._subgraph.tensors):
            raise ValueError(
                f"Invalid tensor index {index} exceeds max tensor index "
                f"{len(self._subgraph.tensors)}"
            )
        return self._subgraph.tensors[index]

    def _shape(self, index: int) -> tuple[int, ...]:
        if index in self._buffers:
            return self._buffers[index].shape
        if self._values is not None and isinstance(self._values.get(index), tf.Tensor):
            shape = self._values[index].shape
            if shape.is_fully_defined():
                return tuple(shape.as_list())
        shape = self._shapes.get(index, self._subgraph.tensors[index].shape)
        return tuple(shape)

    def _get_tensor_details(self, tensor_index: int) -> dict[str, Any]:
        index = int(tensor_index)
        tensor = self._tensor(index)
        if not tensor.name:
            raise ValueError("Could not get tensor details")
        quantization = tensor.quantization
        return {
            "name": tensor.name,
            "index": index,
            "shape": np.array(self._shape(index), np.int32),
            "dtype": np.bytes_ if tensor.dtype == object else tensor.dtype.type,
            "quantization": (0.0, 0)
            if quantization is None or len(quantization.scales) > 1
            else (float(quantization.scale), quantization.zero_point),
        }

    def get_tensor_details(self) -> list[dict[str, Any]]:
        """Return for each tensor that has a name its index, shape, dtype and quantization."""
        return [
            self._get_tensor_details(index)
            for index, tensor in enumerate(self._subgraph.tensors)
            if tensor.name
        ]

    def get_input_details(self) -> list[dict[str, Any]]:
        """Return the details of the model's inputs."""
        return [self._get_tensor_details(index) for index in self._subgraph.inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        """Return the details of the model's outputs."""
        return [self._get_tensor_details(index) for index in self._subgraph.outputs]

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int]) -> None:
        """Set an input's shape; `allocate_tensors` has to be called again.

        Raises:
          ValueError: If it is not an input, or the shape none.
        """
        shape = np.array(tensor_size, np.int32)
        if shape.ndim != 1:
            raise ValueError(f"Shape should be 1D instead of {shape.ndim}.")
        self._tensor(input_index)
        if input_index not in self._subgraph.inputs or (shape < 0).any():
            raise ValueError(f"Tensor {input_index} cannot be given the shape {shape.tolist()}")
        self._shapes[int(input_index)] = tuple(shape.tolist())
        self._forget()

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        """Copy a value into an input.

        Raises:
          ValueError: If its type or shape is not the input's.
        """
        tensor, array = self._tensor(tensor_index), np.asarray(value)
        given = "object" if array.dtype.kind in "SU" else str(array.dtype)
        if given != str(tensor.dtype):
            raise ValueError(
                f"Cannot set tensor: Got tensor of type {_TYPE_NAMES.get(given, 'NOTYPE')} but "
                f"expected type {_TYPE_NAMES[str(tensor.dtype)]} for input {tensor_index}, name: "
                f"{tensor.name} "
            )
        shape = self._shape(tensor_index)
        if array.ndim != len(shape):
            raise ValueError(
                f"Cannot set tensor: Dimension mismatch. Got {array.ndim} but expected "
                f"{len(shape)} for input {tensor_index}."
            )
        for axis, (got, wanted) in enumerate(zip(array.shape, shape)):
            if got != wanted:
                raise ValueError(
                    f"Cannot set tensor: Dimension mismatch. Got {got} but expected {wanted} for "
                    f"dimension {axis} of input {tensor_index}."
                )
        if tensor_index not in self._buffers:
            raise ValueError(
                "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
            )
        self._buffers[tensor_index][...] = array

    def invoke(self) -> None:
        """Run the model.

        Raises:
          RuntimeError: If the tensors are not allocated, or an operator fails.
        """
        if self._call is None:
            raise RuntimeError("Invoke called on model that is not ready.")
        try:
            answers = self._call(*(self._buffers[index] for index in self._subgraph.inputs))
        except errors.OpError as error:
            raise RuntimeError(error.message) from error
        for index, answer in zip(self._fetched, answers):
            kept = self._buffers.get(index)
            if kept is not None and kept.shape == answer.shape:
                kept[...] = answer  # `tensor` may have shown it
            else:
                self._buffers[index] = np.array(answer)

    def get_tensor(self, tensor_index: int) -> Array:
        """Return a copy of a tensor's value; an intermediate one is recomputed.

        Raises:
          ValueError: If it has none.
        """
        return self._value(tensor_index).copy()

    def tensor(self, tensor_index: int) -> Callable[[], Array]:
        """Return a function that returns a tensor's value itself, to be written or read."""
        return lambda: self._value(tensor_index)

    def _value(self, index: int) -> Array:
        self._tensor(index)
        if index in self._buffers:
            return self._buffers[index]
        values = self._values or {}
        value = values.get(index)
        if isinstance(value, np.ndarray):
            return value
        if value is None:
            raise ValueError("Tensor data is null.")
        if index in self._fetched:  # an output before the first run
            dims = value._dims
            sizes = dims if is_known(dims) else self._shape(index)
            self._buffers[index] = self._zeros(index, sizes)
            return self._buffers[index]
        feeds = {values[i]: self._buffers[i] for i in self._subgraph.inputs}
        return np.asarray(self._session.run(value, feeds))

    def reset_all_variables(self) -> None:
        """Do nothing: no operator that Stillflow supports keeps a state."""


def _read(path: str) -> bytes:
    try:
        with open_file(path) as file:
            content: bytes = file.read()
            return content
    except errors.OpError as error:
        raise ValueError(f"Could not open '{path}'.\n{error.message}") from error


@export("lite.experimental.load_delegate")
def load_delegate(library: str, options: Any = None) -> Any:
    """Not supported: a delegate is machine code for TensorFlow Lite's own interpreter.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        f"{library}: delegates of TensorFlow Lite are not supported by Stillflow"
    )
