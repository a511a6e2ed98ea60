"""Arrays from JSON and back, in the row and the column format of the REST interface."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType

Array = np.ndarray[Any, Any]
_BINARY = "_bytes"  # names of outputs that end so hold bytes, not text
_MOST_LEVELS = 32  # NumPy's arrays have no more dimensions


def parse(body: bytes) -> dict[str, Any]:
    """Return the object that a body holds; `NaN` and `Infinity` are numbers.

    Raises:
      InvalidArgumentError: if it is not JSON, or no object.
    """
    if not body.strip():
        raise errors.invalid_argument("JSON Parse error: The document is empty")
    try:
        found = json.loads(body)
    except json.JSONDecodeError as error:
        raise errors.invalid_argument(
            f"JSON Parse error: {error.msg} at offset: {error.pos}"
        ) from None
    except RecursionError:
        raise errors.invalid_argument("JSON Parse error: too many levels") from None
    except ValueError as error:  # not UTF-8, or a number with thousands of digits
        raise errors.invalid_argument(f"JSON Parse error: {error}") from None
    if not isinstance(found, dict):
        raise _wrong(found, "Is not object")
    return found


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, bytes) else json.dumps(value, default=str)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _wrong(value: Any, message: str) -> errors.OpError:
    return errors.invalid_argument(f"JSON Value: {_shown(value)} {message}")


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "Null", True: "True", False: "False"}[value]
    names = {dict: "Object", list: "Array", str: "String"}
    return names.get(type(value), "Number")  # type: ignore[call-overload]


# ---- In ----------------------------------------------------------------------------------------


def signature_name(request: Mapping[str, Any]) -> str:
    """Return the signature's key of a request, "" for the default one."""
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise _wrong(name, "not formatted correctly. 'signature_name' key must be a string value.")
    return name


def inputs_of(request: Mapping[str, Any], signature: Any) -> tuple[dict[str, Array], bool]:
    """Return the inputs of a predict request.

    Args:
      request: the parsed body.
      signature: the `SignatureDef`.

    Returns:
      The arrays by name, and whether they came in rows.

    Raises:
      InvalidArgumentError: if the request has not the form of the signature.
    """
    infos = {name: dtypes.as_dtype(info.dtype) for name, info in signature.inputs.items()}
    if "instances" in request and "inputs" in request:
        raise _wrong(
            dict(request),
            "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ",
        )
    if "instances" in request:
        rows = request["instances"]
        if not isinstance(rows, list):
            raise _wrong(rows, "Expecting 'instances' to be an list/array")
        if not rows:
            raise _wrong(rows, "No values in 'instances' array")
        return _from_rows(rows, infos), True
    if "inputs" in request:
        return _from_columns(request["inputs"], infos), False
    raise errors.invalid_argument("Missing 'inputs' or 'instances' key")


def _from_rows(rows: list[Any], infos: Mapping[str, DType]) -> dict[str, Array]:
    named = isinstance(rows[0], dict) and not is_binary(rows[0])
    if not named:
        if len(infos) != 1:
            raise errors.invalid_argument(
                "instances is a plain list, but expecting list of objects as multiple input "
                "tensors required as per tensorinfo_map"
            )
        for index, row in enumerate(rows):
            if isinstance(row, dict) and not is_binary(row):
                raise errors.invalid_argument(
                    f"Expecting value/list but got object at item {index} of input list"
                )
        ((name, dtype),) = infos.items()
        return {name: to_array(rows, dtype)}
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise errors.invalid_argument(
                f"Expecting object but got list at item {index} of input list"
            )
        if row.keys() != infos.keys():
            raise errors.invalid_argument(
                f"Failed to process element: {index} of 'instances' list. JSON object: "
                f"{_shown(row)} keys must be equal to: {','.join(sorted(infos))}"
            )
    return {name: to_array([row[name] for row in rows], kind) for name, kind in infos.items()}


def _from_columns(value: Any, infos: Mapping[str, DType]) -> dict[str, Array]:
    if not isinstance(value, dict) or (len(infos) == 1 and is_binary(value)):
        if len(infos) != 1:
            raise errors.invalid_argument(
                "inputs is a plain value/list, but expecting an object as multiple input tensors "
                "required as per tensorinfo_map"
            )
        ((name, dtype),) = infos.items()
        return {name: to_array(value, dtype)}
    for name in infos:
        if name not in value:
            raise errors.invalid_argument(f"Missing named input: {name} in 'inputs' object.")
    return {name: to_array(value[name], dtype) for name, dtype in infos.items()}


def is_binary(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"b64"}


def to_array(value: Any, dtype: DType) -> Array:
    """Return nested lists as an array of a type.

    Raises:
      InvalidArgumentError: if they are ragged, or hold values of another type.
    """
    dtype = dtype.base_dtype
    if dtype is dtypes.string or dtype is dtypes.bool:
        return _from_items(value, dtype)
    if not (dtype.is_floating or dtype.is_integer) or dtype.is_quantized:
        raise errors.unimplemented(
            f"Conversion of JSON Value: {_shown(value)} to type: {dtype.name}"
        )
    if not _is_numeric(value):  # NumPy would make each item as long as the longest text
        return _from_items(value, dtype)
    try:
        found = np.array(value)
    except (ValueError, OverflowError):
        found = np.array(None, object)
    if found.dtype.kind not in ("iuf" if dtype.is_floating else "iu"):
        return _from_items(value, dtype)
    if dtype.is_integer and found.size:
        low, high = int(found.min()), int(found.max())
        if low < dtype.min or high > dtype.max:
            worst = low if low < dtype.min else high
            raise _not_of(worst, dtype)
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite, as in C
        return found.astype(dtype.np_dtype)


def _is_numeric(value: Any, level: int = 0) -> bool:
    """Return True for numbers, which bools are not, in lists of few levels."""
    if not isinstance(value, list):
        return type(value) in (int, float)
    if value and isinstance(value[0], list):
        return level < _MOST_LEVELS and all(_is_numeric(each, level + 1) for each in value)
    return {int, float}.issuperset(map(type, value))


def _from_items(value: Any, dtype: DType) -> Array:
    """Convert value by value, which names the first wrong one."""
    shape: list[int] = []
    first = value
    while isinstance(first, list):
        shape.append(len(first))
        if len(shape) > _MOST_LEVELS:
            raise errors.invalid_argument(f"Lists are nested over {_MOST_LEVELS} levels deep")
        first = first[0] if first else None
    flat: list[Any] = []
    _flatten(value, 0, shape, flat, dtype)
    found = np.empty(len(flat), object if dtype is dtypes.string else dtype.np_dtype)
    found[:] = flat
    return found.reshape(shape)


def _flatten(value: Any, level: int, shape: list[int], flat: list[Any], dtype: DType) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise errors.invalid_argument(
                f"JSON Value: {_shown(value)} found at incorrect level: {level + 1} in the JSON "
                f"DOM. Expected at level: {len(shape)}"
            )
        flat.append(_item(value, dtype))
        return
    if level >= len(shape):
        raise errors.invalid_argument(
            f"Encountered list at unexpected level: {level} expected < {len(shape)}"
        )
    if len(value) != shape[level]:
        raise errors.invalid_argument(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: "
            f"{shape[level]}"
        )
    for item in value:
        _flatten(item, level + 1, shape, flat, dtype)


def _item(value: Any, dtype: DType) -> Any:
    if dtype is dtypes.string:
        if isinstance(value, str):
            return value.encode("utf-8", "surrogatepass")
        if is_binary(value):
            return decoded(value)
    elif dtype is dtypes.bool:
        if isinstance(value, bool):
            return value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if dtype.is_floating:
            try:
                return float(value)
            except OverflowError:
                raise _not_of(value, dtype) from None
        if isinstance(value, int) and dtype.min <= value <= dtype.max:
            return value
    raise _not_of(value, dtype)


def _not_of(value: Any, dtype: DType) -> errors.OpError:
    return _wrong(value, f"Type: {_kind(value)} is not of expected type: {dtype.name}")


def decoded(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of `{"b64": "..."}`.

    Raises:
      InvalidArgumentError: if it is not base64.
    """
    text = value["b64"]
    if not isinstance(text, str):
        raise _wrong(dict(value), "not formatted correctly for base64 data")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise errors.invalid_argument("Unable to base64 decode") from None


# ---- Out ---------------------------------------------------------------------------------------


def encode(outputs: Mapping[str, Array], in_rows: bool) -> bytes:
    """Return the body of a predict response.

    Raises:
      InvalidArgumentError: in rows, if outputs have not the same number of rows.
      UnimplementedError: for types that JSON has no values for.
    """
    values = {name: from_array(name, array) for name, array in outputs.items()}
    if not in_rows:
        found = values if len(values) != 1 else next(iter(values.values()))
        return dump({"outputs": found})
    _check_rows(outputs)
    if len(values) == 1:
        return dump({"predictions": next(iter(values.values()))})
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return dump({"predictions": rows})


def _check_rows(outputs: Mapping[str, Array]) -> None:
    size = None
    for name, array in outputs.items():
        if not array.ndim:
            raise errors.invalid_argument(f"Tensor name: {name} has no shape information ")
        size = len(array) if size is None else size
        if len(array) != size:
            raise errors.invalid_argument(
                f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {size}"
            )


def dump(value: Any) -> bytes:
    """Return JSON; bytes that are not UTF-8 stay in its strings as they are."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape")


def from_array(name: str, array: Array) -> Any:
    """Return nested lists that `json.dumps` can write.

    A float32 has the nine digits that distinguish it from its neighbours.
    """
    dtype = dtypes.as_dtype(array.dtype)
    if dtype is dtypes.string:
        return _nested(array, _binary if name.endswith(_BINARY) else _text)
    plain = dtype is dtypes.float64 or dtype is dtypes.bool or dtype.is_integer
    if plain and not dtype.is_quantized:
        return array.tolist()
    if dtype.is_floating:
        wide = array.astype(np.float32)
        return _nested(wide, _short)
    raise errors.unimplemented(f"Failed to write JSON value for tensor type: {dtype.name}")


def _nested(array: Array, convert: Callable[[Any], Any]) -> list[Any]:
    cells = np.empty(array.size, object)
    cells[:] = [convert(item) for item in array.reshape(-1).tolist()]
    return cells.reshape(array.shape).tolist()


def _short(value: float) -> float:
    return float(f"{value:.9g}")


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")


def _binary(value: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(value).decode("ascii")}
