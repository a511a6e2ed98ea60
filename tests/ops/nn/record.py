"""Records what TensorFlow 1.15.5 computes in each case that `collect.py` wrote.

python -m tests.ops.nn.collect      # writes the cases to a temporary file
python -m tests.ops.nn.record       # with an interpreter that has TensorFlow 1.15.5
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
from tests.ops.nn.store import Reader, Writer

CASES = os.path.join(tempfile.gettempdir(), "stillflow_nn_cases.npz")
RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.npz")


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    if tf.__version__ != "1.15.5":
        raise SystemExit("values are recorded under TensorFlow 1.15.5, not " + tf.__version__)
    reader, writer, kept = Reader(CASES), Writer(), []
    for case in reader.cases:
        inputs = [reader.get(place) for place in case["inputs"]]
        outputs = compute(tf, case, inputs)
        if outputs is None:
            continue
        case["inputs"] = [writer.put(value) for value in inputs]
        case["outputs"] = [writer.put(value) for value in outputs]
        kept.append(case)
    writer.save(RECORDED, kept)
    print(len(kept), "of", len(reader.cases), "cases,", os.path.getsize(RECORDED), "bytes")
    print("none of", sorted({c["op"] for c in reader.cases} - {c["op"] for c in kept}))


def compute(tf: Any, case: Any, inputs: Any) -> Any:
    """Return the outputs, None if TF has no kernel for the types or the device."""
    attrs = {
        key: tf.as_dtype(value["type"]) if isinstance(value, dict) else value
        for key, value in case["attrs"].items()
    }
    from tensorflow.core.protobuf import rewriter_config_pb2

    options = rewriter_config_pb2.RewriterConfig(disable_meta_optimizer=True)
    config = tf.ConfigProto(graph_options=tf.GraphOptions(rewrite_options=options))
    with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
        names = [arg.name for arg in graph._get_op_def(case["op"]).input_arg]
        for name, value, kind in zip(names, inputs, case["types"]):
            attrs[name] = tensor(tf, value, kind)
        try:
            result = getattr(tf.raw_ops, case["op"])(**attrs)
            outputs = list(result) if isinstance(result, tuple) else [result]
            with tf.Session(config=config) as session:
                return [np.asarray(value) for value in session.run(outputs)]
        except (tf.errors.OpError, TypeError, ValueError, NotImplementedError):
            return None


def tensor(tf: Any, value: Any, kind: Any) -> Any:
    if isinstance(value, list):
        return [tensor(tf, item, kind) for item in value]
    constant = tf.constant(value)
    return tf.bitcast(constant, tf.as_dtype(kind)) if kind and kind.startswith("q") else constant


if __name__ == "__main__":
    main()
