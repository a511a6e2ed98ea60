"""Inputs of a function whose values are computed again for every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec


class CallTimeValue:
    """A structure of values that is computed when a function is called.

    Args:
      closure: returns the values.
      spec: the structure of their `TypeSpec`s.

    Attributes:
      placeholders: the tensors inside the function, flat.
      inside: the same in the structure of the values.
    """

    def __init__(
        self,
        closure: Callable[[], Any],
        spec: Any,
        placeholder: Callable[[TensorSpec], Tensor],
    ) -> None:
        self._closure, self._spec = closure, spec
        self.placeholders: list[Tensor] = []

        def stand_in(each: Any) -> Any:
            if isinstance(each, TensorSpec):
                self.placeholders.append(placeholder(each))
                return self.placeholders[-1]
            return each._from_components(nest.map_structure(stand_in, each._component_specs))

        self.inside = nest.map_structure(stand_in, spec)

    def __call__(self) -> list[Tensor]:
        """Return the tensors that a call passes now.

        Raises:
          ValueError: if the values do not have the types of the specification.
        """
        values = self._closure()
        nest.assert_same_structure(self._spec, values, expand_composites=True)
        parts = nest.map_structure(
            lambda spec, value: spec._to_components(value), self._spec, values
        )
        return list(nest.flatten(parts, expand_composites=True))
