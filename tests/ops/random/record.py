"""Records what TensorFlow 1.15.5 draws in each case of cases.py.

python -m tests.ops.random.record     # with an interpreter that has it
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from tests.ops.random.cases import CASES, RUNS, STATE, STEPS

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.npz")
# Removed long ago from what new graphs may hold; graphs of an older producer may.
OLD_PRODUCER = {"RandomCrop": 7, "RandomPoisson": 24}


def main() -> None:
    """Run every case in a session of its own and write all values to one file."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    if tf.__version__ != "1.15.5":
        raise SystemExit("values are recorded under TensorFlow 1.15.5, not " + tf.__version__)
    recorded = {}  # type: Dict[str, np.ndarray]
    for name, (op_type, inputs, attrs) in CASES.items():
        with tf.Graph().as_default(), tf.Session() as session:
            outputs = build(tf, op_type, inputs, attrs)
            for run in range(RUNS):
                for number, value in enumerate(session.run(outputs)):
                    recorded["{}|{}|{}".format(name, run, number)] = portable(value)
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.array(STATE), use_resource=True)
        session.run(variable.initializer)
        for number, (op_type, inputs, attrs) in enumerate(STEPS):
            outputs = build(tf, op_type, [variable.handle] + inputs, attrs)
            for value in session.run(outputs):
                if value is not None:
                    recorded["step|{}".format(number)] = portable(value)
            recorded["state|{}".format(number)] = session.run(variable)
    np.savez_compressed(PATH, **recorded)
    print(len(recorded), "arrays,", os.path.getsize(PATH), "bytes")


def portable(value: Any) -> np.ndarray:
    """Return the value in a type that numpy itself has."""
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def build(tf: Any, op_type: str, inputs: list, attrs: dict) -> list:
    """Add the operation to the default graph; return its outputs."""
    from tensorflow.core.framework import attr_value_pb2
    from tensorflow.python.framework import op_def_registry

    op_def = op_def_registry.get_registered_ops()[op_type]
    tensors = [v if isinstance(v, tf.Tensor) else tf.constant(v) for v in inputs]
    graph_def = tf.GraphDef()
    node = graph_def.node.add(name="op", op=op_type)
    map_ = {}
    for position, tensor in enumerate(tensors):
        node.input.append("input%d" % position)
        placeholder = graph_def.node.add(name="input%d" % position, op="Placeholder")
        placeholder.attr["dtype"].type = tensor.dtype.as_datatype_enum
        map_["input%d" % position] = tensor
        if op_def.input_arg[position].type_attr:
            node.attr[op_def.input_arg[position].type_attr].type = tensor.dtype.as_datatype_enum
    kinds = {attr.name: attr.type for attr in op_def.attr}
    for key, value in attrs.items():
        slot = node.attr[key]
        if kinds[key] == "type":
            slot.type = tf.as_dtype(value).as_datatype_enum
        elif kinds[key] == "list(float)":
            slot.CopyFrom(
                attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(f=value))
            )
        else:
            field = {"int": "i", "bool": "b", "float": "f", "string": "s"}[kinds[key]]
            setattr(slot, field, value)
    graph_def.versions.producer = OLD_PRODUCER.get(op_type, 134)
    count = len(op_def.output_arg)
    names = ["op:%d" % index for index in range(count)] or ["op"]
    return tf.import_graph_def(graph_def, input_map=map_, return_elements=names, name="")


if __name__ == "__main__":
    main()
