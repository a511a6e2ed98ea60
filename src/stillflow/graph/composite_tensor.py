"""Values made of several tensors, such as sparse tensors."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from stillflow import nest

if TYPE_CHECKING:
    from stillflow.graph.arrays import Array


class CompositeTensor(abc.ABC):
    """Base of values that are made of tensors and described by a `TypeSpec`."""

    @property
    @abc.abstractmethod
    def _type_spec(self) -> Any:
        """The `TypeSpec` of this value."""

    def _to_components(self) -> list[Array]:
        """Return the tensors (or nested composites) that this value is made of."""
        return self._type_spec._to_components(self)

    def _component_metadata(self) -> Any:
        return self._type_spec

    @staticmethod
    def _from_components(components: Any, metadata: Any) -> Any:
        return metadata._from_components(components)

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        """Return the `TypeSpec` of a loop variable whose shape invariant is `shape`."""
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    @property
    def _is_graph_tensor(self) -> bool:
        components = nest.flatten(self._to_components(), expand_composites=True)
        return any(hasattr(component, "graph") for component in components)

    def _consumers(self) -> list[Any]:
        """Return the operations that use a component."""
        consumers: dict[Any, None] = {}
        for component in nest.flatten(self._to_components()):
            if getattr(component, "graph", None) is not None:
                consumers.update(dict.fromkeys(component.consumers()))
        return list(consumers)


def replace_composites_with_components(structure: Any) -> Any:
    """Return a structure with every composite tensor replaced by its components."""
    if isinstance(structure, CompositeTensor):
        return replace_composites_with_components(structure._to_components())
    if not nest.is_sequence(structure):
        return structure
    return nest.map_structure(replace_composites_with_components, structure)
