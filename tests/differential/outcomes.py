"""Outcomes of cases: plain data that either interpreter writes and reads.

An outcome is a dict. "stage" says how far it came ("done", or where it failed: "build", "run",
"crash", "hang", "tool"), "error" what failed; everything else is what there is to compare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_SOURCE_LINE = re.compile(r" \(defined at [^)]*\)")
_CLASS_PATH = re.compile(r"<class '[\w.]*?(\w+)'>")
_OBJECT = re.compile(r"<[\w.]*?(\w+) object at")
_RESOURCE_NUMBER = re.compile(
    r"(?<=[ '])_\d+_(?=\w)|(?<=TensorArray)_[\d_]+(?=:)|(?<=StackV2)_[\d_]+(?=])"
)
#: Numbers at the end of names, or inside, that TensorFlow counts through the whole process.
_PROCESS_NUMBER = re.compile(
    r"((?:^|_)(?:CustomGradient-|PartitionedCall-|pyfunc_|__(?:inference|forward|backward)_.*_"
    r"|true_|false_|cond_|body_|branch\d+_|while_|grad_|rewritten_))\d+"
)
#: Such numbers in a row: of a function, and of its gradient.
_NUMBERS_OF_GRADIENT = re.compile(r"(__backward_.*?)(?:_(?:\d+|#))+$")
#: A hash, of a function in which there may be such names.
_DATASET_HASH = re.compile(r"^(_make_dataset_)[0-9A-Za-z_+-]{11}$")
#: Two entries of a map in calls of functions, which TensorFlow writes in any order.
_DEVICE_COUNTS = "\n\x07\n\x03GPU\x10\x00", "\n\x07\n\x03CPU\x10\x01"
_REAL_TYPES = (1, 2, 8, 14, 18, 19)  # float, double, complex64, bfloat16, complex128, half
_FIRST_ROOT = re.compile(r"^\s*\(0\) [A-Z][A-Za-z ]*: ")


def done(**found: Any) -> dict[str, Any]:
    """Return the outcome of a case that ran to its end."""
    return dict(found, stage="done", error=None)


def failed(stage: str, error: BaseException, **found: Any) -> dict[str, Any]:
    """Return the outcome of a case that raised, with what was found out before."""
    message = getattr(error, "message", None)
    text = message if isinstance(message, str) else str(error)
    return dict(found, stage=stage, error=(type(error).__name__, first_line(text)))


def first_line(text: str) -> str:
    """Return a message's line about the fault, without source lines, addresses and modules."""
    lines = text.strip().splitlines() or [""]
    line = lines[0]
    if line.endswith("root error(s) found.") and len(lines) > 1:
        line = _FIRST_ROOT.sub("", lines[1])  # several nodes failed in the same way
    elif line.startswith("in converted code"):
        # The lines between are AutoGraph's stack; the last names the class once more.
        line = re.sub(r"^\w+: ", "", lines[-1].strip())
    line = _OBJECT.sub(r"<\1 object at", line)
    line = _RESOURCE_NUMBER.sub("#", line)  # counts the resources of the process
    line = _CLASS_PATH.sub(r"<class '\1'>", line)
    line = re.sub(r"\{\{node [^}]*\}\}", "", _SOURCE_LINE.sub("", line))
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", line).strip()[:300]


def pack(value: Any) -> tuple[str, tuple[int, ...], Any]:
    """Return an array as (dtype, shape, bytes or list): pickles name modules of one NumPy."""
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        return "object", array.shape, array.ravel().tolist()
    if array.dtype.name == "bfloat16":  # known to either side under another class
        return "bfloat16", array.shape, array.astype(np.float32).tobytes()
    return array.dtype.str, array.shape, array.tobytes()


def unpack(packed: tuple[str, tuple[int, ...], Any]) -> np.ndarray:
    """Return the array that `pack` packed; bfloat16 as float32."""
    name, shape, content = packed
    if name == "object":
        array = np.empty(len(content), object)
        array[:] = content
        return array.reshape(shape)
    dtype = np.float32 if name == "bfloat16" else np.dtype(name)
    return np.frombuffer(content, dtype).reshape(shape).copy()


def nodes_of(graph: Any) -> list[tuple[Any, ...]]:
    """Name, operation, inputs and attributes of each node, in order; then the functions."""
    written = graph.as_graph_def()
    nodes = [(node.name, node.op, tuple(node.input), _attributes(node)) for node in written.node]
    functions = [
        tuple(sorted(((node.op, _attributes(node)) for node in function.node_def), key=repr))
        for function in written.library.function
    ]
    return nodes + [("function", *function) for function in sorted(functions, key=repr)]


def _attributes(node: Any) -> tuple[Any, ...]:
    shown = sorted(key for key in node.attr if not key.startswith("_"))
    return tuple((key, _attribute(node.attr[key])) for key in shown)


def _attribute(value: Any) -> Any:
    """Return an attribute's value, without numbers of the process and bits of reals."""
    kind = value.WhichOneof("value")
    if kind == "s":
        first, second = _DEVICE_COUNTS
        text = value.s.decode("latin-1").replace(first + second, second + first)
        return _without_numbers(text)
    if kind == "func":
        return _without_numbers(value.func.name)
    if kind == "list" and value.list.func:
        return tuple(_without_numbers(function.name) for function in value.list.func)
    if kind == "tensor" and value.tensor.dtype in _REAL_TYPES:  # computed: either may round
        return value.tensor.dtype, tuple(dim.size for dim in value.tensor.tensor_shape.dim)
    return value.SerializeToString()


def _without_numbers(text: str) -> str:
    text = _NUMBERS_OF_GRADIENT.sub(r"\1_#", _PROCESS_NUMBER.sub(r"\1#", text))
    return _DATASET_HASH.sub(r"\1#", text)


def draws_unseeded(graph: Any) -> bool:
    """Return True if a random operation has no seed: its values are then no one's to compare."""
    return any(
        "seed" in node.attr
        and "seed2" in node.attr
        and not (node.attr["seed"].i or node.attr["seed2"].i)
        for node in graph.as_graph_def().node
    )


def shapes_of(tensors: Iterable[Any]) -> list[Any]:
    """Return static shapes as lists, or None if not even the rank is known."""
    return [None if tensor.shape.ndims is None else tensor.shape.as_list() for tensor in tensors]


def one_thread(tf: Any) -> Any:
    """Return a session's configuration that runs the graph as it was written, in one thread."""
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


def listed(value: Any) -> list[Any]:
    """Return the items of a list, or a list of the one item."""
    return value if isinstance(value, list) else [value]


def each(change: Callable[[Any], Any], value: Any) -> Any:
    """Return the argument with every item of its list changed, or itself if it is none."""
    return [change(item) for item in value] if isinstance(value, list) else change(value)


def named(tf: Any, path: str) -> Any:
    """Return the public object of a name: `named(tf, "nn.relu")`."""
    found = tf
    for part in path.split("."):
        found = getattr(found, part)
    return found
