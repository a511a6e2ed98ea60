"""Readable differences between a recording and what was captured now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.golden.encode import decode_array

#: Relative and absolute tolerance by dtype; everything else has to be equal.
TOLERANCES = {
    "bfloat16": (2e-2, 1e-2),
    "float16": (2e-3, 1e-3),
    "float32": (1e-5, 1e-6),
    "complex64": (1e-5, 1e-6),
    "float64": (1e-9, 1e-12),
    "complex128": (1e-9, 1e-12),
}
CONTENT_FIELDS = {
    "DT_HALF": ("half_val", "<f2"),
    "DT_FLOAT": ("float_val", "<f4"),
    "DT_DOUBLE": ("double_val", "<f8"),
}
DATA_TYPES = {1: "DT_FLOAT", 2: "DT_DOUBLE", 19: "DT_HALF"}


def graph_differences(expected: dict[str, Any], actual: dict[str, Any]) -> Iterator[str]:
    """Missing, extra and different nodes, their order, collections, library and versions."""
    wanted = {node["name"]: node for node in expected.get("node", [])}
    given = {node["name"]: node for node in actual.get("node", [])}
    for name in wanted:
        if name not in given:
            yield "missing node {} ({})".format(name, wanted[name]["op"])
    for name in given:
        if name not in wanted:
            yield "extra node {} ({})".format(name, given[name]["op"])
    for name in wanted:
        if name in given:
            yield from _node_differences(wanted[name], given[name])
    if list(wanted) != list(given) and set(wanted) == set(given):
        yield _order_difference(list(wanted), list(given))
    for part in sorted((set(expected) | set(actual)) - {"node", "collections"}):
        sides = expected.get(part), actual.get(part)
        differences = _library_differences if part == "library" else _plain_differences
        yield from differences(part, *sides)
    yield from _plain_differences("collection", expected["collections"], actual["collections"])


def _library_differences(
    path: str, wanted: dict[str, Any] | None, given: dict[str, Any] | None
) -> Iterator[str]:
    """Functions that differ; TensorFlow lists them by a hash, so by name here."""
    sides = [_functions(side or {}) for side in (wanted, given)]
    names = [[one["signature"]["name"] for one in side] for side in sides]
    if names[0] != names[1]:
        yield f"{path}: functions are {names[1]}, not {names[0]}"
        return
    for name, one, other in zip(names[0], *sides):
        yield from _function_differences(f"{path}: {name}", one, other)
    rest = [{**(side or {}), "function": None} for side in (wanted, given)]
    yield from _plain_differences(path, *rest)


def _functions(library: dict[str, Any]) -> list[dict[str, Any]]:
    functions = sorted(library.get("function", []), key=lambda f: json.dumps(f, sort_keys=True))
    return sorted(functions, key=lambda one: one["signature"]["name"])


def _function_differences(
    path: str, wanted: dict[str, Any], given: dict[str, Any]
) -> Iterator[str]:
    nodes = [{node["name"]: node for node in side.get("node_def", [])} for side in (wanted, given)]
    if list(nodes[0]) != list(nodes[1]):
        yield f"{path}: nodes are {list(nodes[1])}, not {list(nodes[0])}"
    for name in nodes[0].keys() & nodes[1].keys():
        for line in _node_differences(nodes[0][name], nodes[1][name]):
            yield f"{path}: {line}"
    rest = [{**side, "node_def": None} for side in (wanted, given)]
    yield from _plain_differences(path, *rest)


def _order_difference(wanted: list[str], given: list[str]) -> str:
    at = next(i for i, pair in enumerate(zip(wanted, given)) if pair[0] != pair[1])
    return f"order of nodes: number {at} is {given[at]}, not {wanted[at]}"


def _node_differences(wanted: dict[str, Any], given: dict[str, Any]) -> Iterator[str]:
    name = wanted["name"]
    for part in ("op", "input", "device"):
        if wanted.get(part) != given.get(part):
            yield f"{name}: {part} is {given.get(part)}, not {wanted.get(part)}"
    wanted_attrs, given_attrs = wanted.get("attr", {}), given.get("attr", {})
    for key in sorted(set(wanted_attrs) | set(given_attrs)):
        path = f"{name}: attr {key}"
        yield from _attr_differences(path, wanted_attrs.get(key), given_attrs.get(key))


def _attr_differences(path: str, wanted: Any, given: Any) -> Iterator[str]:
    tensors = [attr.get("tensor") if attr else None for attr in (wanted, given)]
    if None in tensors or not _same_kind(*tensors):
        yield from _plain_differences(path, wanted, given)
        return
    values = [_float_content(tensor) for tensor in tensors]
    if values[0] is None or values[1] is None:
        yield from _plain_differences(path, wanted, given)
    elif not _close_constants(*values):
        yield f"{path}: tensor is {_brief(values[1])}, not {_brief(values[0])}"
    elif set(tensors[0]) != set(tensors[1]):
        fields = [sorted(set(tensor) - {"dtype", "tensor_shape"}) for tensor in tensors]
        yield f"{path}: same tensor, but encoded as {fields[1]}, not {fields[0]}"


def _same_kind(wanted: dict[str, Any], given: dict[str, Any]) -> bool:
    return all(wanted.get(part) == given.get(part) for part in ("dtype", "tensor_shape"))


def _float_content(tensor: dict[str, Any]) -> np.ndarray | None:
    """Numbers of a floating-point TensorProto, whichever way they are encoded."""
    field, code = CONTENT_FIELDS.get(DATA_TYPES.get(tensor.get("dtype", 0), ""), (None, None))
    if field is None:
        return None
    if "tensor_content" in tensor:
        return np.frombuffer(tensor["tensor_content"].encode("latin-1"), code)
    if field == "half_val":
        return np.array(tensor.get(field, []), "<u2").view("<f2")
    return np.array([float(x) for x in tensor.get(field, [])], code)


def _close_constants(wanted: np.ndarray, given: np.ndarray) -> bool:
    """Constants agree but for the last bits, which differ between versions of NumPy."""
    if wanted.shape != given.shape:
        return False
    eps = np.finfo(wanted.dtype).eps
    return bool(np.allclose(wanted, given, rtol=4 * eps, atol=0, equal_nan=True))


def _plain_differences(path: str, wanted: Any, given: Any) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(given, dict):
        for key in sorted(set(wanted) | set(given)):
            yield from _plain_differences(f"{path}.{key}", wanted.get(key), given.get(key))
    elif wanted != given:
        yield f"{path} is {_brief(given)}, not {_brief(wanted)}"


def shape_differences(expected: dict[str, Any], actual: dict[str, Any]) -> Iterator[str]:
    """Yield static shapes that differ, for nodes that exist on both sides."""
    for name in expected:
        if name in actual and expected[name] != actual[name]:
            yield f"{name}: static shape is {actual[name]}, not {expected[name]}"
    missing = [name for name in expected if name not in actual]
    if missing:
        yield f"{len(missing)} nodes are missing, first {missing[0]}"


def value_differences(
    expected: list[dict[str, Any]],
    actual: list[dict[str, Any]],
    rtol: float | None = None,
    atol: float | None = None,
) -> Iterator[str]:
    """Values, facts and errors that differ, run by run and step by step."""
    if len(expected) != len(actual):
        yield f"{len(actual)} runs, not {len(expected)}"
    for number, (wanted, given) in enumerate(zip(expected, actual)):
        place = f"run {number}"
        yield from _plain_differences(place + " error", wanted.get("error"), given.get("error"))
        yield from _group_differences(place, wanted["facts"], given["facts"], rtol, atol)
        steps = [wanted["steps"], given["steps"]]
        if len(steps[0]) != len(steps[1]):
            yield f"{place}: {len(steps[1])} steps, not {len(steps[0])}"
        for step, pair in enumerate(zip(*steps)):
            yield from _group_differences(f"{place} step {step}", *pair, rtol, atol)


def _group_differences(
    place: str,
    wanted: dict[str, Any],
    given: dict[str, Any],
    rtol: float | None,
    atol: float | None,
) -> Iterator[str]:
    for path in sorted(set(wanted) | set(given)):
        where = f"{place}: {path}"
        if path not in given or path not in wanted:
            of, leaf = ("missing", wanted) if path in wanted else ("extra", given)
            yield f"{where} is {of}: {leaf[path]}"
        elif "dtype" in wanted[path] and "dtype" in given[path]:
            yield from _array_differences(where, wanted[path], given[path], rtol, atol)
        elif not _same_leaf(wanted[path], given[path]):
            yield f"{where} is {given[path]}, not {wanted[path]}"


def _same_leaf(wanted: dict[str, Any], given: dict[str, Any]) -> bool:
    """Equal in type as well: ``True`` is not 1."""
    return wanted == given and type(wanted.get("python")) is type(given.get("python"))


def _array_differences(
    where: str,
    wanted: dict[str, Any],
    given: dict[str, Any],
    rtol: float | None,
    atol: float | None,
) -> Iterator[str]:
    for part in ("dtype", "shape"):
        if wanted[part] != given[part]:
            yield f"{where}: {part} is {given[part]}, not {wanted[part]}"
            return
    left, right = decode_array(wanted), decode_array(given)
    if wanted["dtype"] not in TOLERANCES:
        if not np.array_equal(left, right):
            yield f"{where} is {_brief(right)}, not {_brief(left)}"
        return
    usual = TOLERANCES[wanted["dtype"]]
    relative = usual[0] if rtol is None else rtol
    absolute = usual[1] if atol is None else atol
    close = np.isclose(right, left, rtol=relative, atol=absolute, equal_nan=True)
    if not close.all():
        count = f"{close.size - int(close.sum())} of {close.size} numbers differ"
        yield f"{where}: {count}: {_brief(right[~close])}, not {_brief(left[~close])}"


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.ravel()[:6].tolist()
    text = str(value)
    return text if len(text) <= 200 else text[:200] + "..."
