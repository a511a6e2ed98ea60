"""Store of a graph's variables for `tf.get_variable`."""

from __future__ import annotations

import collections.abc as collections_abc
import inspect
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.dtypes import DType
from stillflow.graph.graph import get_default_graph, initial_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.variables.base import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    check_distribution,
)
from stillflow.variables.partitioned import PartitionedVariable, partition

if TYPE_CHECKING:
    from stillflow.variables.initializers import Initializer


class VariableStore:
    """The variables and partitioned variables of one graph, by full name.

    Args:
      keeps_eager: True to keep eager variables too, and return them when they are requested by
        name.
    """

    def __init__(self, keeps_eager: bool = False) -> None:
        self.keeps_eager = keeps_eager
        self._vars: dict[str, Any] = {}
        self._partitioned_vars: dict[str, PartitionedVariable] = {}

    def get_variable(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Any = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """Return the variable called `name`, or make it; `reuse` decides which.

        Raises:
          ValueError: if it exists or is missing against `reuse`, or differs in shape or type.
        """
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        if get_default_graph().runs_at_once:
            if reuse and not self.keeps_eager:
                raise RuntimeError(
                    "When eager execution is enabled variable reuse is only supported when an "
                    "EagerVariableStore is active. See the documentation on EagerVariableStore for "
                    "example usage."
                )
            reuse = None if self.keeps_eager else False
        if initial_graph().runs_at_once:
            use_resource = True  # those of functions are made outside of them
        dtype = getattr(dtype, "base_dtype", dtype)
        synchronization, aggregation, trainable = check_distribution(
            synchronization, aggregation, trainable, name
        )
        options = {
            "name": name, "shape": shape, "dtype": dtype, "initializer": initializer,
            "regularizer": regularizer, "reuse": reuse, "trainable": trainable,
            "collections": collections, "caching_device": caching_device,
            "partitioner": partitioner, "validate_shape": validate_shape,
            "use_resource": use_resource, "constraint": constraint,
            "synchronization": synchronization, "aggregation": aggregation,
        }  # fmt: skip
        if custom_getter is None:
            return self._get(**options)
        if not _accepts(custom_getter, "constraint"):
            del options["constraint"]
        return custom_getter(getter=self._get, **options)

    def _get(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """Return or make a variable; custom getters call this."""
        options = {
            "name": name, "shape": shape, "dtype": dtype, "initializer": initializer,
            "regularizer": regularizer, "reuse": reuse, "trainable": trainable,
            "collections": collections, "caching_device": caching_device,
            "validate_shape": validate_shape, "use_resource": use_resource,
            "constraint": constraint, "synchronization": synchronization,
            "aggregation": aggregation,
        }  # fmt: skip
        is_scalar = isinstance(shape, collections_abc.Sequence) and not shape
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            with name_scope(None):
                return self._get_partitioned_variable(partitioner=partitioner, **options)
        if reuse is True and partitioner is None and name in self._partitioned_vars:
            return self._get_partitioned_variable(partitioner=None, **options)
        if f"{name}/part_0" in self._vars:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was "
                f"found: {name}/part_0. Perhaps a variable of the same name was already created "
                "with partitioning?"
            )
        return self._get_single_variable(**options)

    def _get_partitioned_variable(
        self,
        name: str,
        partitioner: Any,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        reuse: Any = None,
        **options: Any,
    ) -> PartitionedVariable:
        if name in self._vars:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was "
                f"found: {name}.  Perhaps a variable of the same name was already created without "
                "partitioning?"
            )
        shape = as_shape(shape)
        if isinstance(initializer, Tensor):
            shape = shape.merge_with(initializer.shape)
        partitions = partition(partitioner, shape, dtype) if not reuse or partitioner else None
        if name in self._partitioned_vars:
            return self._existing_partitioned(name, shape, dtype, partitions, reuse)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with "
                "tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in "
                "VarScope?"
            )
        from stillflow.variables.partitioned import make_parts

        parts = make_parts(self, name, shape, dtype, initializer, partitions, reuse, options)
        result = PartitionedVariable(name, shape, dtype, parts, partitions)
        if self.keeps_eager or not get_default_graph().runs_at_once:
            self._partitioned_vars[name] = result
        return result

    def _existing_partitioned(
        self, name: str, shape: TensorShape, dtype: DType, partitions: Any, reuse: Any
    ) -> PartitionedVariable:
        if reuse is False:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set "
                "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
            )
        found = self._partitioned_vars[name]
        size, kind, cut = found.get_shape(), found.dtype, found._get_partitions()
        for what, fits, given, known in (
            ("shape", shape.is_compatible_with(size), shape, size),
            ("dtype", dtype.is_compatible_with(kind), dtype.name, kind.name),
            ("partitions", partitions is None or cut == partitions, partitions, cut),
        ):
            if not fits:
                raise ValueError(
                    f"Trying to reuse partitioned variable {name}, but specified {what} {given} "
                    f"and found {what} {known}."
                )
        return found

    def _get_single_variable(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        regularizer: Any = None,
        partition_info: Any = None,
        reuse: Any = None,
        **options: Any,
    ) -> Any:
        from_value = initializer is not None and not callable(initializer)
        if shape is not None and from_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype, shape = dtypes.as_dtype(dtype), as_shape(shape)
        if name in self._vars:
            return self._existing(name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did "
                "you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            initializer = default_initializer(name, dtype)
        with init_scope():
            if from_value:
                value, value_dtype = initializer, None
            else:
                value, value_dtype = _initial_value(initializer, shape, dtype, partition_info)
        variable = Variable(initial_value=value, name=name, dtype=value_dtype, **options)
        eager = get_default_graph().runs_at_once
        if eager and self.keeps_eager:
            _collect(variable, options["collections"], options["trainable"])
        if self.keeps_eager or not eager:
            self._vars[name] = variable
        if regularizer:
            _regularize(variable, name, regularizer)
        return variable

    def _existing(self, name: str, shape: TensorShape, dtype: DType, reuse: Any) -> Any:
        found = self._vars[name]
        if reuse is False:
            message = (
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
            if not getattr(found, "_is_resource_variable", False):
                frames = errors.of_program(found.op.traceback)[::-1]
                lines = "".join(traceback.format_list(frames[:5]))
                message = f"{message} Originally defined at:\n\n{lines}"
            raise ValueError(message)
        prefix = f"Trying to share variable {name}, but specified"
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(f"{prefix} shape {shape} and found shape {found.get_shape()}.")
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(f"{prefix} dtype {dtype.name} and found dtype {found.dtype.name}.")
        return found


def _accepts(function: Callable[..., Any], argument: str) -> bool:
    parameters = inspect.signature(function).parameters
    return argument in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def _initial_value(
    initializer: Any, shape: TensorShape, dtype: DType, partition_info: Any
) -> tuple[Any, DType | None]:
    """Return the variable's initial value as a function, and the type if it is fixed."""
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():

        def value() -> Any:
            return initializer(shape.as_list(), dtype=dtype, partition_info=partition_info)

        return value, dtype.base_dtype
    required = [
        parameter
        for parameter in inspect.signature(initializer).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if not required:
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the "
        "shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` "
        "should be fully defined."
    )


def _collect(variable: Any, collections: Any, trainable: Any) -> None:
    """Add a variable to the collections to which variables of graphs add themselves."""
    graph = get_default_graph()
    graph.add_to_collections(collections or [GraphKeys.GLOBAL_VARIABLES], variable)
    if trainable:
        graph.add_to_collection(GraphKeys.TRAINABLE_VARIABLES, variable)


def _regularize(variable: Any, name: str, regularizer: Any) -> None:
    graph = get_default_graph()
    with graph.colocate_with(variable), name_scope(name + "/Regularizer/"), init_scope():
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def default_initializer(name: str, dtype: DType) -> Initializer:
    """Return the initializer of variables that are given none."""
    from stillflow.variables import initializers

    if dtype.is_floating:
        return initializers.GlorotUniform()
    if dtype.is_integer or dtype.is_unsigned or dtype.is_bool or dtype == dtypes.string:
        return initializers.Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")
