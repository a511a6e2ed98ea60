"""Shared parts of layers: collections of outputs by name, conditions known early, sizes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.variables.base import Variable


class NamedOutputs(NamedTuple):
    """Outputs with a name."""

    name: Any
    outputs: Any


@export("contrib.layers.utils.collect_named_outputs")
def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Add a tensor to collections, under an alias.

    Args:
      collections: a name or names of collections; None for none.
      alias: the alias; a slash at its end is dropped.
      outputs: the tensor.

    Returns:
      The tensor.
    """
    if collections:
        append_tensor_alias(outputs, alias)
        tf.add_to_collections(collections, outputs)
    return outputs


@export("contrib.layers.utils.append_tensor_alias")
def append_tensor_alias(tensor: Any, alias: str) -> Tensor:
    """Add an alias to a tensor, and return the tensor."""
    tensor.aliases = [*getattr(tensor, "aliases", ()), alias.removesuffix("/")]
    return tensor


@export("contrib.layers.utils.gather_tensors_aliases")
def gather_tensors_aliases(tensors: Sequence[Any]) -> list[str]:
    """Return the aliases of all of some tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


@export("contrib.layers.utils.get_tensor_aliases")
def get_tensor_aliases(tensor: Any) -> list[str]:
    """Return the aliases of a tensor; its name if it has none."""
    if hasattr(tensor, "aliases"):
        aliases: list[str] = tensor.aliases
        return aliases
    return [tensor.op.name if tensor.name.endswith(":0") else tensor.name]


@export("contrib.layers.utils.convert_collection_to_dict")
def convert_collection_to_dict(
    collection: str, clear_collection: bool = False
) -> OrderedDict[str, Any]:
    """Return the tensors of a collection by their aliases.

    Args:
      collection: the collection.
      clear_collection: whether to empty it.
    """
    output = OrderedDict(
        (alias, tensor)
        for tensor in tf.get_collection(collection)
        for alias in get_tensor_aliases(tensor)
    )
    if clear_collection:
        tf.get_default_graph().clear_collection(collection)
    return output


@export("contrib.layers.utils.constant_value")
def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """Return the value, if it is known while building; None if it is not.

    Args:
      value_or_tensor_or_var: a Python value, which is given back; a tensor, or a variable.
      dtype: the type that a tensor has to have.

    Raises:
      ValueError: for None; for another type.
    """
    value = value_or_tensor_or_var
    if value is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    if not isinstance(value, (Tensor, Variable)):
        return value
    if dtype and value.dtype != dtype:
        raise ValueError(f"It has the wrong type {value.dtype} instead of {dtype}")
    return None if isinstance(value, Variable) else static_value(value)


@export("contrib.layers.utils.static_cond")
def static_cond(
    pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]
) -> Tensor | tuple[Tensor, ...]:
    """`fn1()` or `fn2()`, as a Python value says.

    Raises:
      TypeError: if one is no function.
    """
    for name, branch in (("fn1", fn1), ("fn2", fn2)):
        if not callable(branch):
            raise TypeError(f"{name} must be callable.")
    return fn1() if pred else fn2()


@export("contrib.layers.utils.smart_cond")
def smart_cond(
    pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None
) -> Tensor | tuple[Tensor, ...]:
    """`fn1()` or `fn2()`; the graph decides only where the condition is not known yet.

    Raises:
      TypeError: if one is no function.
    """
    value = constant_value(pred)
    return static_cond(value, fn1, fn2) if value is not None else tf.cond(pred, fn1, fn2, name)


@export("contrib.layers.utils.get_variable_collections")
def get_variable_collections(variables_collections: Any, name: str) -> list[str] | None:
    """Return the collections for one of a layer's variables.

    Args:
      variables_collections: collections for all, or {name of a variable: its collections}.
      name: the variable's name.
    """
    if isinstance(variables_collections, dict):
        return variables_collections.get(name)
    return variables_collections


def _dimension(shape: Any, axis: int, min_rank: int) -> int:
    dims = shape.dims
    if dims is None:
        raise ValueError("dims of shape must be known but is None")
    if len(dims) < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {len(dims)}")
    value: int | None = dims[axis].value
    if value is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {shape}")
    return value


@export("contrib.layers.utils.channel_dimension")
def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int:
    """Return the number of channels.

    Raises:
      ValueError: if it is not known, or the rank is less than `min_rank`.
    """
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


@export("contrib.layers.utils.last_dimension")
def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """Return the size of the last axis.

    Raises:
      ValueError: if it is not known, or the rank is less than `min_rank`.
    """
    return _dimension(shape, -1, min_rank)


@export("contrib.layers.utils.two_element_tuple")
def two_element_tuple(int_or_tuple: Any) -> tuple[Any, Any]:
    """Two integers: those given, or the one given, twice.

    Raises:
      ValueError: for what is neither an integer nor a pair.
    """
    if isinstance(int_or_tuple, int):
        return (int(int_or_tuple),) * 2
    is_list = isinstance(int_or_tuple, (list, tuple))
    if not (is_list or isinstance(int_or_tuple, TensorShape)) or len(int_or_tuple) != 2:
        raise ValueError(
            f"Must be a list with 2 elements: {int_or_tuple}"
            if is_list
            else "Must be an int, a list with 2 elements or a TensorShape of length 2"
        )
    first, second = map(int, int_or_tuple) if is_list else int_or_tuple
    return first, second


def _checked_positive(value: int) -> int:
    if value < 1:
        raise ValueError(f"expected positive integer, but received {value}")
    return value


@export("contrib.layers.utils.n_positive_integers")
def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """`n` integers above 0: those given, or the one given, `n` times.

    Raises:
      ValueError: for anything else.
    """
    if int(n) < 1 or int(n) != n:
        raise ValueError("n must be a positive integer")
    try:
        single = int(value)
    except (TypeError, ValueError):
        pass
    else:
        return (_checked_positive(single),) * int(n)
    message = f"Expected sequence of {int(n)} positive integers, but received {value!r}"
    if len(value) != n:
        raise ValueError(message)
    try:
        values = tuple(int(x) for x in value)
    except (TypeError, ValueError):
        raise ValueError(message) from None
    return tuple(_checked_positive(x) for x in values)
