"""Tensors that know their values, as those of operations that ran when they were called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stillflow.graph.operation import Tensor


class EagerTensor(Tensor):
    """A tensor with a value."""

    _held: Any  # the run-time value

    def _array(self) -> Any:
        return self.op._values[self.value_index]  # type: ignore[index]

    def numpy(self) -> Any:
        """The value, an array or a scalar of numpy; it may share the tensor's memory."""
        return self._array()[()]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self._array()
        return array.astype(dtype) if dtype is not None else array.copy() if copy else array

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __index__(self) -> int:
        return int(self.numpy().__index__())

    def __len__(self) -> int:
        if not self.shape.ndims:
            raise TypeError("Scalar tensor has no `len()`")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape.ndims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(len(self)))  # type: ignore[index]

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec)

    def __str__(self) -> str:
        return f"tf.Tensor({self.numpy()}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return (
            f"<tf.Tensor: id={self.op._id}, shape={self.shape}, dtype={self.dtype.name}, "
            f"numpy={self.numpy()!r}>"
        )

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def device(self) -> str:
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Refused: there is no session.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're "
            "looking for?"
        )
