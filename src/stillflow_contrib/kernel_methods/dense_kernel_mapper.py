"""Maps of dense features to others, whose inner products approximate a kernel."""

from __future__ import annotations

import abc
from typing import Any


class InvalidShapeError(Exception):
    """A tensor has another shape than a mapper takes."""


class DenseKernelMapper(abc.ABC):
    """Maps dense features to dense features; `tf.contrib.kernel_methods` has one such class."""

    @abc.abstractmethod
    def map(self, input_tensor: Any) -> Any:
        """Return the mapped features, `[batch, output_dim]`, of `input_tensor`."""
        raise NotImplementedError(f"map is not implemented for {self}.")

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The mapper's name."""

    @property
    @abc.abstractmethod
    def output_dim(self) -> int:
        """The number of output features."""
