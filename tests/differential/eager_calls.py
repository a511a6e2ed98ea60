"""Public functions, called with the arguments of `calls.py` in eager execution."""

from __future__ import annotations

import contextlib
import importlib
import random
import zlib
from typing import Any

import numpy as np

from . import outcomes
from .calls import Maker, _described, _is_real, _leaves, cases

__all__ = ["cases", "run"]


@contextlib.contextmanager
def eagerly(tf: Any) -> Any:
    """Execute operations at once, within the context."""
    ours = tf.__name__ == "stillflow"
    name = "stillflow.graph.eager_mode" if ours else "tensorflow.python.eager.context"
    with tf.Graph().as_default(), importlib.import_module(name).eager_mode():
        begin_anew = getattr(tf.get_default_graph(), "begin_anew", None)
        if begin_anew is not None:  # TensorFlow keeps collections in the graph above, a new one
            begin_anew()
        yield


def run(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Call the function and return its values, or the error."""
    seed = zlib.crc32(repr((case["name"], case["arguments"])).encode())
    random.seed(seed)  # some functions draw their seeds from these two
    np.random.seed(seed)
    with eagerly(tf):
        tf.set_random_seed(5)
        maker = Maker(tf, seed)
        try:
            arguments = {key: maker.argument(value) for key, value in case["arguments"].items()}
            leaves = list(_leaves(tf, outcomes.named(tf, case["name"])(**arguments)))
            values = [_value(tf, leaf) for leaf in leaves]
        except Exception as error:
            return outcomes.failed("build", error)
        result = [
            "a value" if value is not None else _described(tf, leaf)
            for leaf, value in zip(leaves, values)
        ]
        known = [outcomes.pack(value) for value in values if value is not None]
        return outcomes.done(result=result, values=known)


def _value(tf: Any, leaf: Any) -> Any:
    """Return the value of a tensor or variable, or of a number; None for other objects."""
    if isinstance(leaf, (tf.Tensor, tf.Variable)) and leaf.dtype not in (tf.resource, tf.variant):
        return leaf.numpy()
    return np.asarray(leaf) if _is_real(leaf) else None
