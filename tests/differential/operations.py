"""Single operations, called with random variations of the samples of their cards."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from . import outcomes
from .outcomes import each


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end; needs Stillflow, as its cards say what there is to vary.

    Args:
      seed: what the choice depends on, and nothing else.
      names: operations to keep to; all that can be compared, if there are none.
    """
    return importlib.import_module(__package__ + ".operation_cases").cases(seed, names)


def run(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Build the operation in a graph of its own and run it."""
    graph, feeds = tf.Graph(), {}
    found: dict[str, Any] = {}
    with graph.as_default():
        try:
            given = arguments(tf, case, feeds)
            outputs = tensors(tf, apply(tf, case["name"], given))
            found["shapes"] = outcomes.shapes_of(outputs)  # TensorFlow may raise an error here
        except Exception as error:
            return outcomes.failed("build", error)
        found["types"] = [tensor.dtype.name for tensor in outputs]
        try:
            with tf.Session(config=outcomes.one_thread(tf)) as session:
                values = session.run(outputs, feeds)
        except Exception as error:
            return outcomes.failed("run", error, **found)
    return outcomes.done(values=[outcomes.pack(value) for value in values], **found)


def arguments(tf: Any, case: dict[str, Any], feeds: dict[Any, Any]) -> dict[str, Any]:
    arguments = {name: _attribute(tf, value) for name, value in case["attrs"].items()}
    for place, (name, packed) in enumerate(case["inputs"]):
        known = "values" if place in case["fixed"] else case["known"]
        arguments[name] = each(lambda one: _tensor(tf, one, known, feeds), packed)  # noqa: B023
    return arguments


def _attribute(tf: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        kind, content = value
        return {"dtype": tf.as_dtype, "shape": tf.TensorShape}[kind](content)
    return [_attribute(tf, item) for item in value] if isinstance(value, list) else value


def _tensor(tf: Any, packed: Any, known: str, feeds: dict[Any, Any]) -> Any:
    array = outcomes.unpack(packed)
    dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
    if known == "values":
        return tf.constant(array, dtype, shape=array.shape)
    shape = {"sizes": array.shape, "ranks": [None] * array.ndim, "types": None}[known]
    fed = tf.placeholder(dtype, shape)
    feeds[fed] = array
    return fed


def apply(tf: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Return a node of any operation: by its card, or by TensorFlow's function for it."""
    if tf.__name__ == "stillflow":
        card = importlib.import_module("stillflow.graph.card").get(name)
        inputs = [arguments.pop(arg.name) for arg in card.signature.inputs]
        return card(*inputs, **arguments)
    return _any_operation().apply_op(name, **arguments)


@functools.lru_cache(maxsize=1)
def _any_operation() -> Any:
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.framework import op_def_library, op_def_registry

    known = op_def_pb2.OpList()
    known.op.extend(op_def_registry.get_registered_ops().values())
    library = op_def_library.OpDefLibrary()
    library.add_op_list(known)
    return library


def tensors(tf: Any, result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [tensor for part in result for tensor in tensors(tf, part)]
    return [] if isinstance(result, tf.Operation) else [result]
