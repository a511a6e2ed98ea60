"""Values, messages and graphs as plain JSON data, the same under every NumPy and protobuf."""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

#: Names that TF numbers through the whole process: they depend on what was built before.
PROCESS_WIDE_NUMBER = re.compile(
    r"^(CustomGradient-|(?:Stateful)?PartitionedCall-|pyfunc_|__inference_.*_|__forward_.*_)\d+$"
)
#: Two entries of a map in calls of functions, which TensorFlow writes in any order.
_DEVICE_COUNTS = b"\n\x07\n\x03GPU\x10\x00", b"\n\x07\n\x03CPU\x10\x01"
#: The same inside of names of functions: branches, loops, and what differentiates functions.
_NUMBERS_INSIDE = re.compile(r"(_(?:true|false|cond|body|grad|branch\d+)|^__.*?)_\d+(?=_|$)")


def encode_array(value: Any) -> dict[str, Any]:
    """Return a NumPy array (or what becomes one) with dtype, shape and exact data."""
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        items = [_text(item) for item in array.ravel().tolist()]
        return {"dtype": "string", "shape": list(array.shape), "items": items}
    raw = np.ascontiguousarray(array).tobytes()
    data = base64.b64encode(raw).decode("ascii")
    return {"dtype": dtype_name(array.dtype), "shape": list(array.shape), "data": data}


def dtype_name(dtype: np.dtype) -> str:
    """Return ``float32`` and so on; structured quantized types by the name of their one field."""
    return dtype.names[0] if dtype.names else dtype.name


def decode_array(record: dict[str, Any]) -> np.ndarray:
    """Return the array of a record; strings come back as an object array of latin-1 text."""
    shape = tuple(record["shape"])
    if record["dtype"] == "string":
        array = np.empty(len(record["items"]), dtype=object)
        array[:] = record["items"]
        return array.reshape(shape)
    raw = base64.b64decode(record["data"])
    if record["dtype"] == "bfloat16":
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    quantised = {"qint8": "i1", "quint8": "u1", "qint32": "<i4", "qint16": "<i2", "quint16": "<u2"}
    return np.frombuffer(raw, quantised.get(record["dtype"], record["dtype"])).reshape(shape)


def flatten(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Leaves of a fetched structure with their paths."""
    if isinstance(value, dict) and not _is_error(value):
        for key in sorted(value, key=str):
            yield from flatten(value[key], f"{path}/{key}" if path else str(key))
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for field in value._fields:
            yield from flatten(getattr(value, field), f"{path}/{field}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from flatten(item, f"{path}/{index}")
    else:
        yield path, value


def encode_values(value: Any) -> dict[str, Any]:
    """Every leaf of a structure by its path, encoded."""
    return {path: _encode_leaf(leaf) for path, leaf in flatten(value, "")}


def _encode_leaf(leaf: Any) -> Any:
    if _is_error(leaf):
        return {"error": leaf}
    if leaf is None or (isinstance(leaf, (bool, int, str)) and not isinstance(leaf, np.generic)):
        return {"python": leaf}
    return encode_array(leaf)


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"class", "message"}


def _text(item: Any) -> str:
    return item.decode("latin-1") if isinstance(item, bytes) else str(item)


def encode_message(message: Any) -> dict[str, Any]:
    """Return a protobuf message as nested dicts; bytes as latin-1."""
    result: dict[str, Any] = {}
    for field, value in message.ListFields():
        result[field.name] = _encode_field(field, value)
    return result


def without_numbers(graph: dict[str, Any]) -> dict[str, Any]:
    """Return an encoded graph whose functions have no process-wide numbers in their names."""
    functions = graph.get("library", {}).get("function", [])
    names = {one["signature"]["name"] for one in functions}
    renamed = {name: _NUMBERS_INSIDE.sub(r"\1_N", name) for name in names}
    return graph if all(a == b for a, b in renamed.items()) else _renamed(graph, renamed)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def _encode_field(field: Any, value: Any) -> Any:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        entry = kind.fields_by_name["value"]
        return {str(key): _encode_scalar(entry, value[key]) for key in sorted(value)}
    if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
        return [_encode_scalar(field, item) for item in value]
    return _encode_scalar(field, value)


def _encode_scalar(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return encode_message(value)
    if isinstance(value, str):
        return PROCESS_WIDE_NUMBER.sub(r"\1N", value)
    if isinstance(value, bytes):
        first, second = _DEVICE_COUNTS
        value = value.replace(first + second, second + first)
        return PROCESS_WIDE_NUMBER.sub(r"\1N", value.decode("latin-1"))
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def write_recording(path: str, recording: dict[str, Any]) -> int:
    """Write one family's recording; the same data always gives the same bytes. Returns size."""
    text = json.dumps(recording, sort_keys=True, separators=(",", ":"), allow_nan=False)
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0, filename="") as out:
        out.write(text.encode("ascii"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(buffer.getvalue())
    return len(buffer.getvalue())


def read_recording(path: str) -> dict[str, Any]:
    """Read what ``write_recording`` wrote: records of programs by their function names.

    Older recordings have the family's former name before each.
    """
    with gzip.open(path, "rt", encoding="ascii") as file:
        return {name.rpartition("/")[2]: record for name, record in json.load(file).items()}


def names_of(items: list[Any]) -> list[str]:
    """Return the items of a collection: names where items have one, else their text or type."""
    result = []
    for item in items:
        if isinstance(item, (str, bytes, int, float)):
            result.append(repr(item))
        else:
            result.append(str(getattr(item, "name", None) or type(item).__name__))
    return result
