"""Methods with which variables change or read some of their rows or elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph.api import name_scope
from stillflow.graph.card import Card, get
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.variables.accesses import variable_accessed

if TYPE_CHECKING:
    from stillflow.variables.resource_variable import UnreadVariable


def card(name: str) -> Card:
    """Return the card of an op that changes or reads parts of a variable."""
    from stillflow.ops.arrays import (  # noqa: F401 - they make the cards
        gather,
        gather_nd,
        scatter_variables,
        strided_assign,
    )

    return get(name)


def resource_scatter_add(variable: Any, indices: Tensor, updates: Tensor) -> Tensor:
    """Add to rows of a resource variable; give its value after that."""
    added = card("ResourceScatterAdd")(variable.handle, indices, updates)
    with get_default_graph().control_dependencies([added]):
        value: Tensor = variable.value()
    return value


def _check_slices(sparse_delta: Any) -> None:
    if not isinstance(sparse_delta, IndexedSlices):
        raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")


class ScatterMethods:
    """`v.scatter_add(slices)`, `v.scatter_nd_add(indices, updates)` and so on.

    Subclasses say in `_scatter` and `_scatter_nd` which operation that is for their kind.
    """

    def _scatter(self, kind: str, slices: Any, use_locking: bool, name: str | None) -> Any:
        raise NotImplementedError

    def _scatter_nd(self, kind: str, indices: Any, updates: Any, name: str | None) -> Any:
        raise NotImplementedError

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtracts IndexedSlices."""
        return self._scatter("Sub", sparse_delta, use_locking, name)

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Add IndexedSlices."""
        return self._scatter("Add", sparse_delta, use_locking, name)

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> UnreadVariable:
        """Assign the maximum with IndexedSlices."""
        return self._scatter("Max", sparse_delta, use_locking, name)

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> UnreadVariable:
        """Assign the minimum with IndexedSlices."""
        return self._scatter("Min", sparse_delta, use_locking, name)

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> UnreadVariable:
        """Multiplies by IndexedSlices."""
        return self._scatter("Mul", sparse_delta, use_locking, name)

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> UnreadVariable:
        """Divides by IndexedSlices."""
        return self._scatter("Div", sparse_delta, use_locking, name)

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> UnreadVariable:
        """Set rows to those of IndexedSlices."""
        return self._scatter("Update", sparse_delta, use_locking, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtracts from the elements or slices that rows of `indices` name."""
        return self._scatter_nd("Sub", indices, updates, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Add to the elements or slices that rows of `indices` name."""
        return self._scatter_nd("Add", indices, updates, name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Set the elements or slices that rows of `indices` name."""
        return self._scatter_nd("Update", indices, updates, name)


class RefScatterMethods(ScatterMethods):
    """Scatter methods of reference variables: each returns the reference, after the change."""

    _variable: Tensor

    def _scatter(self, kind: str, slices: Any, use_locking: bool, name: str | None) -> Tensor:
        _check_slices(slices)
        return card(f"Scatter{kind}")(
            self._variable, slices.indices, slices.values, use_locking=use_locking, name=name
        )

    def _scatter_nd(self, kind: str, indices: Any, updates: Any, name: str | None) -> Tensor:
        change = card(f"ScatterNd{kind}")
        return change(self._variable, indices, updates, use_locking=True, name=name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows, where all but the last dimension of the indices are batches."""
        from stillflow.ops.arrays.scatter_variables import batch_scatter_update

        return batch_scatter_update(
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, name: str | None, **masks: int
    ) -> Tensor:
        assign = card("StridedSliceAssign")
        return assign(self._variable, begin, end, strides, value, name=name, **masks)


class ResourceScatterMethods(ScatterMethods):
    """Scatter methods of resource variables: each returns the variable, read after the change."""

    _handle: Tensor
    dtype: Any

    def _lazy_read(self, op: Any) -> Any:
        raise NotImplementedError

    def _scatter(
        self, kind: str, slices: Any, use_locking: bool, name: str | None
    ) -> UnreadVariable:
        del use_locking
        _check_slices(slices)
        values = convert_to_tensor(slices.values, self.dtype)
        change = card(f"ResourceScatter{kind}")
        return self._lazy_read(change(self._handle, slices.indices, values, name=name))

    def _scatter_nd(
        self, kind: str, indices: Any, updates: Any, name: str | None
    ) -> UnreadVariable:
        updates = convert_to_tensor(updates, self.dtype)
        change = card(f"ResourceScatterNd{kind}")
        return self._lazy_read(change(self._handle, indices, updates, name=name))

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> UnreadVariable:
        """Set rows, where all but the last dimension of the indices are batches."""
        from stillflow.ops.arrays.scatter_variables import batch_scatter_update

        _check_slices(sparse_delta)
        return self._lazy_read(
            batch_scatter_update(
                self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
            )
        )

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, name: str | None, **masks: int
    ) -> UnreadVariable:
        value = convert_to_tensor(value, dtype=self.dtype)
        assign = card("ResourceStridedSliceAssign")
        return self._lazy_read(assign(self._handle, begin, end, strides, value, name=name, **masks))

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the rows that `indices` name, without reading the whole variable."""
        return self._gather("ResourceGather", "Gather", indices, name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the elements or slices that rows of `indices` name."""
        return self._gather("ResourceGatherNd", "GatherNd", indices, name)

    def _gather(self, op: str, default_name: str, indices: Any, name: str | None) -> Tensor:
        with name_scope(default_name if name is None else name) as scope:
            variable_accessed(self)
            value = card(op)(self._handle, indices, dtype=self.dtype, name=scope)
        return identity(value)
