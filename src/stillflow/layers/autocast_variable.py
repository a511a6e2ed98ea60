"""Variables that are kept in one floating dtype and read in another while their layer is called."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.math.cast import cast
from stillflow.variables.ref_variable import RefVariable
from stillflow.variables.resource_variable import ResourceVariable

_ATTRIBUTE = "_auto_cast_variable_read_dtype"


@contextlib.contextmanager
def variables_read_as(dtype: Any) -> Iterator[None]:
    """Return a context in which such variables are read in a floating dtype; None for their own."""
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    graph: Any = get_default_graph()
    before = graph.__dict__.get(_ATTRIBUTE)
    graph.__dict__[_ATTRIBUTE] = dtype if dtype is not None and dtype.is_floating else None
    try:
        yield
    finally:
        graph.__dict__[_ATTRIBUTE] = before


class AutoCastVariable(ResourceVariable):
    """A variable whose values have the dtype that its layer computes in; see `autocast`."""

    def _read_as(self) -> DType | None:
        """Return the dtype that values are cast to now; None if they stay as they are."""
        graph: Any = get_default_graph()
        while _ATTRIBUTE not in graph.__dict__ and isinstance(graph, FuncGraph):
            graph = graph.outer_graph
        dtype = graph.__dict__.get(_ATTRIBUTE)
        return None if dtype == self._dtype else dtype

    @property
    def dtype(self) -> DType:
        return self._read_as() or self._dtype

    @property
    def true_dtype(self) -> DType:
        """The dtype in which it is kept."""
        return self._dtype

    def value(self) -> Tensor:
        """Return the value where this is called, cast within calls of its layer."""
        value = super().value()
        wanted = self._read_as()
        if wanted is None or value.holds_value:
            return value if wanted is None else cast(value, wanted)
        graph = get_default_graph()
        with graph.colocate_with(None, ignore_existing=True), graph.device(value.device):
            return cast(value, wanted)

    def read_value(self) -> Tensor:
        """Return the value at the place in the graph where this is called, cast as by `value`."""
        return self._cast(super().read_value())

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the rows at some places, cast as by `value`."""
        return self._cast(super().sparse_read(indices, name=name))

    def _cast(self, value: Tensor) -> Tensor:
        wanted = self._read_as()
        return value if wanted is None else cast(value, wanted)

    def assign(self, *args: Any, **kwargs: Any) -> Any:
        """Change the kept value; the arguments are a variable's, as of the two below."""
        with variables_read_as(None):
            return super().assign(*args, **kwargs)

    def assign_add(self, *args: Any, **kwargs: Any) -> Any:
        with variables_read_as(None):
            return super().assign_add(*args, **kwargs)

    def assign_sub(self, *args: Any, **kwargs: Any) -> Any:
        with variables_read_as(None):
            return super().assign_sub(*args, **kwargs)

    def __repr__(self) -> str:
        head = (
            f"<AutoCastVariable '{self.name}' shape={self.shape} dtype={self.dtype.name} "
            f"true_dtype={self.true_dtype.name}"
        )
        at_once = get_default_graph().runs_at_once
        return f"{head}, numpy={self.read_value().numpy()!r}>" if at_once else f"{head}>"  # type: ignore[attr-defined]


def autocast(variable: Any) -> Any:
    """Make a variable, and each part of one in replicas, be read in its layer's compute dtype."""
    if getattr(variable, "is_distributed", False):
        for part in variable.values:
            autocast(part)
        return variable
    if isinstance(variable, AutoCastVariable):
        return variable  # another replica was here before
    if isinstance(variable, RefVariable):
        raise ValueError(f"variable must be of type tf.ResourceVariable, but got: {variable}")
    if not variable.dtype.is_floating:
        raise ValueError(
            f"variable must be a floating point variable but has type: {variable.dtype.name}"
        )
    if type(variable) is not ResourceVariable:
        raise NotImplementedError(
            f"{variable.name} is a {type(variable).__name__}: only resource variables are cast "
            "when they are read in Stillflow"
        )
    variable.__class__ = AutoCastVariable
    return variable
