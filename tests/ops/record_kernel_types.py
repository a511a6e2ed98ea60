"""Records for which element types TensorFlow 1.15.5 has kernels on the CPU.

python -m tests.ops.record_kernel_types     # with an interpreter that has it
"""

from __future__ import annotations

import importlib
import json
import os

LIBRARIES = (
    "fused_conv.python.ops.fused_conv2d_bias_activation_op",
    "libsvm.python.ops.libsvm_ops",
    "nearest_neighbor.python.ops.nearest_neighbor_ops",
    "reduce_slice_ops.python.ops.reduce_slice_ops",
    "text.python.ops.skip_gram_ops",
)
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel_types.json")


def main() -> None:
    """Write the possible combinations of each op's type attributes.

    An entry `{"T": ["float32", "float64"], "Tidx": ["int32"]}` stands for every combination. An
    attribute that is left out may have any type.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    from tensorflow.python.framework import kernels

    for module in LIBRARIES:  # which register operations of their own
        importlib.import_module("tensorflow.contrib." + module)

    if tf.__version__ != "1.15.5":
        raise SystemExit("types are recorded under TensorFlow 1.15.5, not " + tf.__version__)
    found = {}  # type: dict
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type != "CPU":
            continue
        types = {}
        for constraint in kernel.constraint:
            kinds = constraint.allowed_values.list.type
            if kinds:
                types[constraint.name] = {tf.as_dtype(kind).name for kind in kinds}
        entries = found.setdefault(kernel.op, [])
        if types not in entries:
            entries.append(types)
    written = {
        name: [{attr: sorted(kinds) for attr, kinds in sorted(entry.items())} for entry in entries]
        for name, entries in ((name, merged(found[name])) for name in sorted(found))
        if any(entries)
    }
    lines = [json.dumps(name) + ": " + json.dumps(written[name]) for name in written]
    with open(PATH, "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def merged(entries: list) -> list:
    """Join entries that differ in one attribute until there are none left."""
    entries = list(entries)
    for first in entries:
        for second in entries:
            differing = [attr for attr in first if first[attr] != second.get(attr)]
            if first is second or set(first) != set(second) or len(differing) != 1:
                continue
            joined = dict(first)
            joined[differing[0]] = first[differing[0]] | second[differing[0]]
            rest = [entry for entry in entries if entry is not first and entry is not second]
            return merged([*rest, joined])
    return sorted(entries, key=lambda entry: json.dumps({k: sorted(v) for k, v in entry.items()}))


if __name__ == "__main__":
    main()
