"""Checkpoints of every type and shape, written and read by TensorFlow 1.15.5.

    python -m tests.files.checkpoint_matrix write DIRECTORY   # as the tests have it on record
    python -m tests.files.checkpoint_matrix read DIRECTORY    # what it finds there, as JSON

Runs under TensorFlow's own Python; imported by tests, it needs neither.
"""

from __future__ import annotations

import json
import sys

import numpy as np

SHAPES = [(), (3,), (0,), (2, 3, 4), (1, 2, 1, 3, 2), (2, 0, 3)]
TYPES = [
    "float32", "float64", "int32", "uint8", "int16", "int8", "complex64", "int64", "bool",
    "uint16", "complex128", "float16", "uint32", "uint64",
]  # fmt: skip
NOT_IN_VERSION_1 = ("uint32", "uint64")
# TensorFlow's RestoreV2 reads them, its NewCheckpointReader does not; it divides by the size of
# empty ones, too.
NOT_READ_FROM_VERSION_1 = ("bool", "complex64", "complex128", "float16", "uint16")
WHOLE = np.arange(60, dtype=np.float32).reshape(10, 6)
PARTS = {"10 6 0,4:-": WHOLE[:4], "10 6 4,3:0,6": WHOLE[4:7], "10 6 7,3:-": WHOLE[7:]}
MANY = [f"layer_{i}/kernel/Adam_{j}" for i in range(60) for j in range(3)]


def strings(items, shape):
    """Return an array of bytes."""
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)


def values():
    """All tensors by name."""
    random = np.random.RandomState(1)
    found = {}
    for kind in TYPES:
        for place, shape in enumerate(SHAPES):
            array = np.asarray(random.standard_normal(shape) * 100)
            found[f"{kind}/{place}"] = array > 0 if kind == "bool" else array.astype(kind)
    found["string/0"] = strings([b"hello"], ())
    found["string/1"] = strings([b"", b"x" * 200, b"\0\xff", b"abc"], (2, 2))
    found["string/2"] = strings([], (0,))
    return found


def write(tf, directory):
    """Write the checkpoints `all`, `parts`, `many` (V2), `v1` and `v1parts`."""
    found = values()
    names = sorted(found)
    raw = tf.raw_ops

    def save(prefix, names, specs, tensors):
        return raw.SaveV2(
            prefix=f"{directory}/{prefix}",
            tensor_names=names,
            shape_and_slices=specs,
            tensors=tensors,
        )

    with tf.Graph().as_default(), tf.Session() as session:
        tensors = {name: tf.constant(found[name]) for name in names}
        session.run(save("all", names, [""] * len(names), [tensors[name] for name in names]))
        parts = [tf.constant(part) for part in PARTS.values()]
        session.run(save("parts", ["p"] * 3 + ["w"], [*PARTS, ""], [*parts, tf.constant(3.0)]))
        many = [tf.constant(float(place)) for place in range(len(MANY))]
        session.run(save("many", MANY, [""] * len(MANY), many))
        old = [name for name in names if name.split("/")[0] not in NOT_IN_VERSION_1]
        session.run(
            raw.SaveSlices(
                filename=f"{directory}/v1",
                tensor_names=old,
                shapes_and_slices=[""] * len(old),
                data=[tensors[name] for name in old],
            )
        )
        session.run(
            raw.SaveSlices(
                filename=f"{directory}/v1parts",
                tensor_names=["p"] * 3,
                shapes_and_slices=list(PARTS),
                data=parts,
            )
        )


def read(tf, directory):
    """Return a reader's results for the same checkpoints, as JSON can hold them."""
    result = {}
    for prefix in ("all", "parts", "many", "v1"):
        reader = tf.train.NewCheckpointReader(f"{directory}/{prefix}")
        shapes = reader.get_variable_to_shape_map()
        types = reader.get_variable_to_dtype_map()
        for name in sorted(shapes):
            kind = name.split("/")[0]
            if prefix == "v1" and (kind in NOT_READ_FROM_VERSION_1 or 0 in shapes[name]):
                continue
            array = np.asarray(reader.get_tensor(name))
            if array.dtype.kind in "OS":
                content = [item.hex() for item in array.reshape(-1).tolist()]
            else:
                content = array.tobytes().hex()
            result[f"{prefix}:{name}"] = [types[name].name, list(shapes[name]), content]
    return result


if __name__ == "__main__":
    import tensorflow

    if sys.argv[1] == "write":
        write(tensorflow, sys.argv[2])
    else:
        print(json.dumps(read(tensorflow, sys.argv[2])))
