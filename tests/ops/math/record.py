"""Records what TensorFlow 1.15.5 computes in each case of cases.py.

python -m tests.ops.math.record     # with an interpreter that has it
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from tests.ops.math.cases import all_cases

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.npz")


def main() -> None:
    """Run every case that has a kernel for the CPU and write all results to one file.

    The file holds one flat array for each element type, and an index of where each result is.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    if tf.__version__ != "1.15.5":
        raise SystemExit("values are recorded under TensorFlow 1.15.5, not " + tf.__version__)
    index = {}
    flat = {}  # type: Any
    for name, case in all_cases().items():
        result = compute(tf, *case)
        if result is None:
            continue
        kind = result.dtype.name
        parts = flat.setdefault(kind, [])
        start = sum(part.size for part in parts)
        index[name] = [kind, start, list(result.shape)]
        parts.append(result.ravel())
    arrays = {kind: np.concatenate(parts) for kind, parts in flat.items()}
    np.savez_compressed(PATH, index=np.frombuffer(json.dumps(index).encode(), np.uint8), **arrays)
    print(len(index), "results,", os.path.getsize(PATH), "bytes")


def compute(tf: Any, op: str, dtype: str, inputs: Any, attrs: Any) -> Any:
    """Return the result of one op, None if TF has no kernel for the type."""
    given = {key: tf.as_dtype(v) if key == "DstT" else v for key, v in attrs.items()}
    with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
        try:
            names = [arg.name for arg in graph._get_op_def(op).input_arg]
            # The only input whose name tf.raw_ops changes.
            names = ["axis" if name == "reduction_indices" else name for name in names]
            for name, value in zip(names, inputs):
                given[name] = tensor(tf, value, dtype)
            result = getattr(tf.raw_ops, op)(**given)
            if result.dtype == tf.bfloat16:
                result = tf.cast(result, tf.float32)
            with tf.Session() as session:
                return np.asarray(session.run(result))
        except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError, TypeError):
            return None


def tensor(tf: Any, value: Any, dtype: str) -> Any:
    """Return a constant, in the type of the case where numpy holds that in a wider one."""
    if isinstance(value, list):
        return [tensor(tf, item, dtype) for item in value]
    constant = tf.constant(value)
    is_wide = value.dtype == np.float32 and dtype in ("float16", "bfloat16")
    return tf.cast(constant, dtype) if is_wide else constant


if __name__ == "__main__":
    main()
