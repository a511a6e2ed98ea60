"""Datasets of arrays that variables hold, so that graphs need not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import init_scope
from stillflow.graph.graph import get_default_graph
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.constants import placeholder
from stillflow.variables.base import Variable
from stillflow.variables.creation import variable_creator_scope

if TYPE_CHECKING:
    from stillflow.data.dataset_v1 import DatasetV1Adapter


_MOST_BYTES_AT_ONCE = 64 << 20


class SingleDevice(NamedTuple):
    """A device to make a variable on, which then has no parts on others."""

    device: str


def one_host_numpy_dataset(
    numpy_input: Any, colocate_with: SingleDevice, session: Any
) -> DatasetV1Adapter:
    """Return a dataset of the rows of arrays, in variables that are made at `colocate_with`.

    Where graphs are built, a session gives the variables their values.
    """

    def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        return next_creator(**kwargs, colocate_with=colocate_with)

    def make(array: Any) -> Variable:
        with variable_creator_scope(create):
            return Variable(zeros(array.shape, array.dtype), trainable=False)

    return dataset_of_variables(numpy_input, make, session)


def dataset_of_variables(
    numpy_input: Any, make: Callable[[Any], Any], session: Any
) -> DatasetV1Adapter:
    """Return a dataset of the rows of arrays, whose variables `make(array)` makes."""
    from stillflow.data.dataset_v1 import DatasetV1

    arrays = nest.flatten(numpy_input)
    variables = [make(array) for array in arrays]
    for variable, array in zip(variables, arrays, strict=True):
        fill(variable, array, session)
    return DatasetV1.from_tensor_slices(nest.pack_sequence_as(numpy_input, variables))


def fill(variable: Any, array: Any, session: Any) -> None:
    """Assign an array to a variable, some rows at a time."""
    with init_scope():
        if get_default_graph().runs_at_once:
            variable.assign(array)
            return
        assert session is not None
        session.run(variable.initializer)
        start, end = placeholder(dtypes.int64, ()), placeholder(dtypes.int64, ())
        rows = placeholder(variable.dtype)
        assign = variable[start:end].assign(rows)
        row_bytes = int(np.prod(array.shape[1:])) * variable.dtype.size
        step = int(np.ceil(_MOST_BYTES_AT_ONCE / max(row_bytes, 1)))
        for first in range(0, array.shape[0], step):
            last = min(first + step, array.shape[0])
            session.run(assign, {start: first, end: last, rows: array[first:last]})
