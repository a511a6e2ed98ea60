"""Generator of src/stillflow/known_names.txt: the public names of TensorFlow 1.15.

It tells a name that is not supported yet from one that never existed. The input is the record of
TensorFlow's public symbols, {"tf.nn.relu": {...}, ...}, and the record of what programs use,
{"symbols": [{"symbol": "tf.nn.relu", ...}, ...]}, for tf.estimator, tf.compat.v2 and
tf.contrib.learn; the packages of tf.contrib, and names that only their internal modules show in
the record, are those of src/stillflow/facade/internal_names.txt.
Namespaces with equal members share a line:

    flags app.flags: DEFINE_bool DEFINE_float ...

Left out are raw_ops (asked of the op cards), copies of other libraries' internals that contrib
packages happened to show, and names more than two levels inside tf.contrib.

    python tools/make_known_names.py API_JSON USAGE_JSON
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path

from stillflow.facade.names import internal_modules

TARGET = Path(__file__).resolve().parent.parent / "src" / "stillflow" / "known_names.txt"
ACCIDENTS = (
    "raw_ops",
    "contrib.quantization",
    "contrib.testing",
    "contrib.labeled_tensor",
    "contrib.keras.",
    "contrib.grid_rnn.",
    "contrib.tensor_forest.",
    "contrib.graph_editor.",
)
USED = ("tf.estimator.", "tf.compat.v2.", "tf.contrib.learn.")
FUTURE = {"absolute_import", "division", "print_function"}


def left_out(namespace: str) -> bool:
    """Return True if a namespace is no part of the API that a program would name."""
    return namespace.startswith(ACCIDENTS) or (
        namespace.startswith("contrib.") and namespace.count(".") > 2
    )


def render(symbols: list[str]) -> str:
    """Return the text of the file for a list of names such as `tf.nn.relu`."""
    members: dict[str, set[str]] = defaultdict(set)
    for symbol in symbols:
        namespace, _, name = symbol.removeprefix("tf.").rpartition(".")
        if not left_out(namespace) and name not in FUTURE and not name.startswith("_"):
            members[namespace].add(name)
    shared: dict[str, list[str]] = defaultdict(list)
    for namespace, names in sorted(members.items()):
        shared[" ".join(sorted(names))].append(namespace)
    lines = sorted(f" {' '.join(namespaces)}: {names} " for names, namespaces in shared.items())
    return "\n".join(lines) + "\n"


def held_by_internal_modules() -> list[str]:
    """Return the public names of tf.contrib in the record of internal modules."""
    record = (TARGET.parent / "facade" / "internal_names.txt").read_text(encoding="ascii")
    held = re.findall(r"(?m)(?:^| )(contrib\.[\w.]+):([\w,]+)", record)
    return [f"tf.{namespace}.{name}" for namespace, names in held for name in names.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("api", type=Path, help="the record of public symbols")
    parser.add_argument("usage", type=Path, help="the record of the symbols that programs use")
    arguments = parser.parse_args()
    symbols = list(json.loads(arguments.api.read_text()))
    used = json.loads(arguments.usage.read_text())["symbols"]
    symbols += [row["symbol"] for row in used if row["symbol"].startswith(USED)]
    symbols += [
        module.replace("tensorflow.", "tf.")
        for module in internal_modules()
        if module.startswith("tensorflow.contrib.") and module.count(".") == 2
    ]
    symbols += held_by_internal_modules()
    TARGET.write_text(render(symbols), encoding="ascii")


if __name__ == "__main__":
    main()
