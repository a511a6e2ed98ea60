"""The variables of layers: their names in `tf.contrib.layers`, and their collections."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.contrib.framework.variables import model_variable
from stillflow.contrib.layers.utils import collect_named_outputs, get_variable_collections
from stillflow.graph.operation import Tensor
from stillflow.variables.partitioned import PartitionedVariable

if TYPE_CHECKING:
    from stillflow.variables.scatter import ScatterMethods


# Names that differ from those of `tf.layers`.
WEIGHTS_AND_BIASES = {"bias": "biases", "kernel": "weights"}


_OPTIONS = (
    "shape", "dtype", "initializer", "regularizer", "trainable", "collections", "caching_device",
    "partitioner", "use_resource", "synchronization", "aggregation",
)  # fmt: skip


def model_variable_getter(
    getter: Any, name: str, *args: Any, rename: dict[str, str] | None = None, **kwargs: Any
) -> Any:
    """Return a getter for variable scopes whose variables are model variables.

    Args:
      rename: {last part of a name: what it is instead}.
      getter, name, ...: as of getters for `tf.variable_scope`; others than `_OPTIONS` do nothing.
    """
    *scopes, short = name.split("/")
    full = "/".join([*scopes, (rename or {}).get(short, short)])
    given = {"dtype": None, **dict(zip(_OPTIONS, args)), **kwargs}
    options = {key: given[key] for key in _OPTIONS if key in given}
    return model_variable(full, custom_getter=getter, **options)


def variable_getter(rename: dict[str, str] | None = None) -> Callable[..., Any]:
    """`model_variable_getter` that renames."""

    def layer_variable_getter(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return model_variable_getter(getter, *args, **{**kwargs, "rename": rename})

    return layer_variable_getter


def add_to_collections(variable: Any, variables_collections: Any, name: str) -> None:
    """Add a layer's variable, or its parts, to the collections for variables of a name."""
    parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
    for collection in get_variable_collections(variables_collections, name) or []:
        for part in parts:
            if not any(part is known for known in tf.get_collection(collection)):
                tf.add_to_collection(collection, part)


class ModelVariables:
    """Creator of one layer's variables.

    Args:
      dtype: their type.
      collections: collections for all, or {name of a variable: its collections}.
      trainable: whether they are trained, unless said otherwise.
      initializers, regularizers: {name of a variable: what it has instead of the default}.
    """

    def __init__(
        self,
        dtype: Any,
        collections: Any,
        trainable: bool = True,
        initializers: dict[str, Any] | None = None,
        regularizers: dict[str, Any] | None = None,
    ) -> None:
        self._dtype, self._collections, self._trainable = dtype, collections, trainable
        self._initializers, self._regularizers = initializers or {}, regularizers or {}

    def make(
        self, name: str, shape: Any, initializer: Any, trainable: bool | None = None,
        regularizer: Any = None,
    ) -> ScatterMethods:  # fmt: skip
        """Get or make a variable."""
        return model_variable(
            name, shape=shape, dtype=self._dtype,
            initializer=self._initializers.get(name, initializer),
            regularizer=self._regularizers.get(name, regularizer),
            collections=get_variable_collections(self._collections, name),
            trainable=self._trainable if trainable is None else trainable,
        )  # fmt: skip


def finished(
    outputs: Any,
    scope_name: str,
    outputs_collections: Any,
    activation_fn: Any = None,
    normalizer_fn: Any = None,
    normalizer_params: dict[str, Any] | None = None,
) -> Tensor:
    """Return a layer's outputs, normalized, activated and collected as `scope_name`."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, scope_name, outputs)


def outputs_of(
    kind: Any, sc: Any, inputs: Any, given: dict[str, Any], alias: str = "", **options: Any
) -> Tensor:
    """Return the finished outputs of a layer with a kernel and perhaps a bias.

    `kind` is a class of `tf.layers` or the like, `sc` its variable scope. `given` are the arguments
    of the function that makes it, as all such functions call them; outputs are collected as
    `alias`, by default the scope's name.
    """
    use_bias = not given["normalizer_fn"] and given["biases_initializer"]
    layer = kind(
        activation=None, use_bias=use_bias, kernel_initializer=given["weights_initializer"],
        bias_initializer=given["biases_initializer"],
        kernel_regularizer=given["weights_regularizer"],
        bias_regularizer=given["biases_regularizer"], activity_regularizer=None,
        trainable=given["trainable"], name=sc.name, dtype=inputs.dtype.base_dtype, _scope=sc,
        _reuse=given["reuse"], **options,
    )  # fmt: skip
    outputs = layer.apply(inputs)
    collections = given["variables_collections"]
    add_to_collections(layer.kernel, collections, "weights")
    if use_bias:
        add_to_collections(layer.bias, collections, "biases")
    return finished(
        outputs, alias or sc.name, given["outputs_collections"], given["activation_fn"],
        given["normalizer_fn"], given["normalizer_params"],
    )  # fmt: skip
