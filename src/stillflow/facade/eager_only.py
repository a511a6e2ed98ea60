"""Additions of ``tensorflow.python.eager.test`` to ``tf.test``."""

from __future__ import annotations

from typing import Any

from stillflow.graph.operation import Tensor


def test_main(argv: Any = None) -> None:
    """Run the tests of a program with operations that run when they are called."""
    from stillflow.graph.eager_mode import enable_eager_execution
    from stillflow.testing.environment import main

    enable_eager_execution()
    main(argv)


class NotOkStatusException(Exception):
    """An error of TensorFlow's compiled part, before it is made one of ``tf.errors``.

    Args:
      message: The text.
      code: The number of its kind.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code


class FallbackException(Exception):
    """A fast path of eager execution does not take these arguments; there is a slower one."""


class SymbolicException(Exception):
    """A call in eager execution was given tensors of a graph."""


def status_to_exception(code: int, message: str) -> Exception:
    """Return the error of ``tf.errors`` for the number of its kind."""
    from stillflow import errors

    try:
        kind: Any = errors.exception_type_from_error_code(code)
    except KeyError:
        return errors.UnknownError(None, None, message, code)
    made: Exception = kind(None, None, message)
    return made


def tensor_shape_slice(tensors: Any, slice_dim: int) -> Tensor:
    """Return how many elements each tensor has in one dimension, as an int32 tensor."""
    from stillflow.eager.eager_tensor import EagerTensor
    from stillflow.ops.constants import constant

    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f'tensors argument must be a list or a tuple. Got "{type(tensors).__name__}"'
        )
    if slice_dim < 0:
        raise ValueError(f"Slice dimension must be non-negative. Got {slice_dim}")
    sizes = []
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, EagerTensor):
            raise TypeError(
                f"Expected a list of EagerTensors but element {index} has type "
                f'"{type(tensor).__name__}"'
            )
        if slice_dim >= tensor.ndim:
            raise IndexError(
                f"Slice dimension ({slice_dim}) must be smaller than rank of all tensors, but "
                f"tensor at index {index} has rank {tensor.ndim}"
            )
        sizes.append(tensor.shape.as_list()[slice_dim])
    return constant(sizes, dtype="int32", shape=[len(sizes)])
