"""The functions of a generator whose elements are made on another device.

A generator is on the device that its elements go to. Its three functions call local ones on the
source device, where an iterator goes by its string handle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.functional.concrete import ConcreteFunction
from stillflow.functional.functional_ops import remote_call
from stillflow.functional.polymorphic import defun, defun_with_attributes
from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec

HANDLE = [TensorSpec([], dtypes.string)]


class SourceDevice:
    """Functions that call others on a device.

    Args:
      name: of the device, a tensor.
    """

    def __init__(self, name: Any) -> None:
        self._name = name

    def _call(
        self, function: Any, arguments: Sequence[Any], types: Sequence[DType]
    ) -> list[Tensor]:
        arguments = [*arguments, *function.captured_inputs]
        return remote_call(args=arguments, Tout=types, f=function, target=self._name)

    def init_function(self, local: Any) -> ConcreteFunction:
        """Return a function that gives the handle that `local` gives."""

        @defun
        def _remote_init_func() -> list[Tensor]:
            return self._call(local, [], [dtypes.string])

        return _remote_init_func.get_concrete_function()

    def next_function(self, local: Any, types: Sequence[DType]) -> ConcreteFunction:
        """Return a function from a handle to the element, of these types, of `local`."""

        @defun_with_attributes(
            input_signature=HANDLE, attributes={"experimental_ints_on_device": True}
        )
        def _remote_next_func(string_handle: Any) -> list[Tensor]:
            return self._call(local, [string_handle], types)

        return _remote_next_func.get_concrete_function()

    def finalize_function(self, local: Any) -> ConcreteFunction:
        """Return a function of a handle that calls `local`, which gives a number of no meaning."""

        @defun(input_signature=HANDLE)
        def _remote_finalize_func(string_handle: Any) -> list[Tensor]:
            return self._call(local, [string_handle], [dtypes.int64])

        return _remote_finalize_func.get_concrete_function()
