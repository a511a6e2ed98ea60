"""Generator of src/stillflow/v2_names.txt: the names of tf.compat.v2 that are tf's objects.

Run by a Python that has TensorFlow 1.15 (it runs on Python 3.7):

    python tools/record_v2_names.py src/stillflow/v2_names.txt

A line per namespace, "nn: relu softplus ...". The own functions of compat.v2 (reduce_sum without
keep_dims, ...) are not in the file; the package marks its functions of that kind itself.
"""

from __future__ import annotations

import sys
import types

DEPTH = 4
MISSING = object()


def find(root: object, path: list) -> object:
    """Return the attribute at a path below a module, or MISSING."""
    for name in path:
        try:
            root = getattr(root, name)
        except Exception:  # a lazy module that cannot be loaded here
            return MISSING
    return root


def shared(v2: types.ModuleType, v1: types.ModuleType) -> dict:
    """Return {namespace: names} of objects that both modules hold under the same name."""
    found: dict = {}
    pending: list = [[]]
    while pending:
        path = pending.pop()
        if len(path) > DEPTH or path[:1] == ["raw_ops"]:
            continue
        module = find(v2, path)
        for name in dir(module):
            value = find(v2, [*path, name])
            if name.startswith("_") or name == "compat":
                continue
            if isinstance(value, types.ModuleType):
                if "tensorflow" in value.__name__:
                    pending.append([*path, name])
            elif value is not MISSING and value is find(v1, [*path, name]):
                found.setdefault(".".join(path), []).append(name)
    return found


def main() -> None:
    import tensorflow as tf

    lines = [
        f"{space}: {' '.join(sorted(names))}\n"
        for space, names in sorted(shared(tf.compat.v2, tf).items())
    ]
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.writelines(lines)


if __name__ == "__main__":
    main()
