"""Public functions, called with random arguments that their names ask for."""

from __future__ import annotations

import importlib
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import outcomes
from .arguments import Made


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end; needs Stillflow, whose signatures say what there is to pass.

    Args:
      seed: what the choice depends on, and nothing else.
      names: functions to keep to ("nn.relu"); all that build graphs, if there are none.
    """
    return importlib.import_module(__package__ + ".call_cases").cases(seed, names)


class Maker:
    """Constructor of arguments in the default graph, of numbers that depend on the seed only."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf, self.numbers = tf, np.random.RandomState(seed)

    def argument(self, value: Any) -> Any:
        """Return the argument that a plain value stands for."""
        return MAKERS[value.maker](self, value.told) if isinstance(value, Made) else value

    def variable(self, shape: list[int]) -> Any:
        """Return a variable of such numbers."""
        return self.tf.Variable(self.between(shape))

    def between(self, shape: list[int], low: float = 0.05, high: float = 0.95) -> np.ndarray:
        """Numbers with three places."""
        return np.round(self.numbers.uniform(low, high, shape), 3).astype(np.float32)


MAKERS: dict[str, Callable[[Maker, Any], Any]] = {
    "boxes": lambda m, told: m.tf.constant(_boxes(m)),
    "boxes of images": lambda m, told: m.tf.constant(np.stack([_boxes(m)] * 2)),
    "called": lambda m, told: outcomes.named(m.tf, told[0])(*map(m.argument, told[1:])),
    "cell": lambda m, told: m.tf.nn.rnn_cell.LSTMCell(2),
    "complex": lambda m, told: m.tf.complex(*(m.tf.constant(m.between(told)) for _ in range(2))),
    "depends": lambda m, told: m.tf.reduce_sum(m.tf.square(m.variable(told))),
    "doubles": lambda m, told: m.tf.constant(np.float64(m.between(told))),
    "dtype": lambda m, told: m.tf.as_dtype(told),
    "encoded": lambda m, told: outcomes.named(m.tf, f"image.encode_{told}")(
        m.tf.constant(m.numbers.randint(0, 255, [5, 4, 3]).astype(np.uint8))
    ),
    "examples": lambda m, told: _examples(m.tf),
    "features": lambda m, told: _features(m),
    "floats": lambda m, told: m.tf.constant(m.between(told)),
    "function": lambda m, told: FUNCTIONS[told](m.tf),
    "gradients": lambda m, told: [(m.tf.constant(m.between(told)), m.variable(told))],
    "graph": lambda m, told: m.tf.get_default_graph(),
    "image": lambda m, told: m.tf.constant(m.numbers.randint(0, 255, [5, 4, 3]).astype(np.uint8)),
    "integers": lambda m, told: m.tf.constant(np.int32(m.numbers.randint(0, 3, told))),
    "integers64": lambda m, told: m.tf.constant(np.int64(m.numbers.randint(0, 3, told))),
    "int variable": lambda m, told: m.tf.Variable(np.zeros(told, np.int32)),
    "labeled": lambda m, told: _labeled(m, told),
    "list": lambda m, told: [m.argument(value) for value in told],
    "numbers": lambda m, told: m.tf.constant(told),
    "operations": lambda m, told: [m.tf.square(m.tf.constant(m.between([2]))).op],
    "one hot": lambda m, told: m.tf.constant(np.float32(np.eye(3))[m.numbers.randint(0, 3, [2])]),
    "pair of floats": lambda m, told: [m.tf.constant(m.between(told)) for _ in range(2)],
    "placeholder": lambda m, told: m.tf.placeholder_with_default(
        m.between([size or 2 for size in told]), told
    ),
    "positive definite": lambda m, told: m.tf.constant(_positive_definite(m.between([3, 3]))),
    "public": lambda m, told: outcomes.named(m.tf, told),
    "ragged": lambda m, told: m.tf.ragged.constant([[1.0, 2.0], [], [3.0]]),
    "serialized sparse": lambda m, told: m.tf.serialize_many_sparse(
        _sparse(m, [2, 3], m.between([2]))
    ),
    "sparse": lambda m, told: _sparse(m, told, m.between([2])),
    "sparse ids": lambda m, told: _sparse(m, told, np.int64(m.numbers.randint(0, 3, 2))),
    "sparse texts": lambda m, told: _sparse(m, [2, 3], ["a", "b"]),
    "state": lambda m, told: m.tf.nn.rnn_cell.LSTMStateTuple(
        *(m.tf.constant(m.between([2, told])) for _ in range(2))
    ),
    "texts": lambda m, told: m.tf.constant(["a b", "bca", "", "aab"]),
    "triangular": lambda m, told: m.tf.constant(np.tril(_positive_definite(m.between([3, 3])))),
    "truths": lambda m, told: m.tf.constant(m.numbers.uniform(size=told) < 0.5),
    "variable": lambda m, told: m.variable(told),
    "view": lambda m, told: m.tf.contrib.graph_editor.sgv(
        m.tf.add(m.tf.square(m.tf.constant(m.between([2]))), float(told)).op
    ),
}

#: Functions that calls are given, each made from the module under test.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda tf: lambda first, second: first + second,
    "constant": lambda tf: lambda: tf.constant(1.5),
    "derivative": lambda tf: lambda y, t: -0.5 * y,
    "double": lambda tf: lambda value: value + value,
    "other constant": lambda tf: lambda: tf.constant(2.5),
    "step": lambda tf: lambda given, states: (given + states[0], [given]),
    "true": lambda tf: lambda value: True,
}


def _boxes(maker: Maker) -> np.ndarray:
    """Three boxes: where they begin, and behind that where they end."""
    begin = maker.between([3, 2], 0.0, 0.4)
    return np.concatenate([begin, begin + maker.between([3, 2], 0.2, 0.5)], 1)


def _sparse(maker: Maker, shape: list[int], values: Any) -> Any:
    rank = len(shape)
    indices = np.int64([[0] * rank, [size - 1 for size in shape]])
    return maker.tf.SparseTensor(indices, values, shape)


def _labeled(maker: Maker, axes: list[list[Any]]) -> Any:
    values = maker.tf.constant(maker.between([size for _, size in axes]))
    return maker.tf.contrib.labeled_tensor.LabeledTensor(values, [name for name, _ in axes])


def _examples(tf: Any) -> list[bytes]:
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[1.5]))
    features = tf.train.Features(feature={"n": feature})
    return [tf.train.Example(features=features).SerializeToString()] * 2


def _features(maker: Maker) -> dict[str, Any]:
    """Return a feature for each of the columns of `valid_arguments.py`."""
    tf = maker.tf
    return {
        "n": tf.constant(maker.between([2, 1])),
        "c": tf.constant([["a"], ["c"]]),
        "d": tf.constant([["b"], ["b"]]),
        "i": tf.constant([[0], [2]], tf.int64),
    }


def _positive_definite(matrix: np.ndarray) -> np.ndarray:
    return matrix.dot(matrix.T) + np.eye(3, dtype=np.float32)


def run(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Return calls the function in a graph of its own, and runs what it gives."""
    seed = zlib.crc32(repr((case["name"], case["arguments"])).encode())
    random.seed(seed)  # some functions draw their seeds from these two
    np.random.seed(seed)
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(5)
        maker = Maker(tf, seed)
        try:
            arguments = {key: maker.argument(value) for key, value in case["arguments"].items()}
            leaves = list(_leaves(tf, outcomes.named(tf, case["name"])(**arguments)))
        except Exception as error:
            return outcomes.failed("build", error)
        found = {
            "result": [_described(tf, leaf) for leaf in leaves],
            "nodes": outcomes.nodes_of(graph),
            "collections": _collections(graph),
            "unseeded": outcomes.draws_unseeded(graph),
        }
        tensors = [leaf for leaf in leaves if _has_value(tf, graph, leaf)]
        try:
            values = _values(tf, tensors) + [
                outcomes.pack(np.asarray(x)) for x in leaves if _is_real(x)
            ]
            return outcomes.done(values=values, **found)
        except Exception as error:
            return outcomes.failed("run", error, **found)


def _leaves(tf: Any, result: Any) -> Iterator[Any]:
    """Yield the tensors of a result; the parts of a sparse tensor are three tensors."""
    if isinstance(result, dict):
        for key in sorted(result, key=str):
            yield from _leaves(tf, result[key])
    elif isinstance(result, tf.SparseTensor):
        yield from (result.indices, result.values, result.dense_shape)
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from _leaves(tf, item)
    else:
        yield result


def _described(tf: Any, leaf: Any) -> Any:
    if isinstance(leaf, (tf.Tensor, tf.Variable)):
        return (leaf.name, leaf.dtype.name, str(leaf.shape))
    if isinstance(leaf, tf.Operation):
        return leaf.name
    if _is_real(leaf):
        return ("array", np.asarray(leaf).dtype.name, np.shape(leaf))
    if leaf is None or isinstance(leaf, (bool, int, float, str, bytes, np.generic, np.ndarray)):
        return str(leaf)[:200]
    kind = type(leaf).__name__
    return "an object" if kind.startswith("_") or hasattr(leaf, "__enter__") else kind


def _is_real(leaf: Any) -> bool:
    """Return True for real numbers of Python or NumPy, which are compared as values."""
    return isinstance(leaf, (float, np.floating, np.ndarray)) and np.asarray(leaf).dtype.kind == "f"


def _collections(graph: Any) -> dict[str, list[str]]:
    return {
        key: [getattr(item, "name", type(item).__name__) for item in graph.get_collection(key)]
        for key in graph.get_all_collection_keys()
        if isinstance(key, str)
    }


def _has_value(tf: Any, graph: Any, leaf: Any) -> bool:
    if not isinstance(leaf, (tf.Tensor, tf.Variable)) or leaf.graph is not graph:
        return False
    return graph.is_fetchable(leaf) and leaf.dtype.base_dtype not in (tf.resource, tf.variant)


def _values(tf: Any, tensors: list[Any]) -> list[Any]:
    """Values, one after the other: a metric's value and its update, run together, race."""
    with tf.Session(config=outcomes.one_thread(tf)) as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.local_variables_initializer())
        session.run(tf.tables_initializer())
        return [outcomes.pack(session.run(tensor)) for tensor in tensors]
