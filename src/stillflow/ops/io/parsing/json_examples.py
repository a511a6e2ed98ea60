"""Examples in JSON, in the form that they nearly always have: lists of numbers and of strings.

Protobuf's own parser accepts every form and processes each value separately; it reads all
unexpected forms, and so raises all errors.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable
from typing import Any

from stillflow.protos import Example

_LARGEST = 3.4028234663852886e38  # of float32
_WHOLE = re.compile(r"-?[0-9]{1,19}\Z", re.ASCII).match
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z").match


class _Other(Exception):
    """A form that is not read here."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Other
    return found


def _only(value: Any, key: str, kind: type) -> Any:
    """Return the value of the only key."""
    if type(value) is not dict or len(value) != 1 or type(value.get(key)) is not kind:
        raise _Other
    return value[key]


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is not str or not _WHOLE(value):
        raise _Other
    return int(value)


def _float(value: Any) -> float:
    if type(value) not in (float, int) or not -_LARGEST <= value <= _LARGEST:
        raise _Other
    return float(value)


def _string(value: Any) -> bytes:
    if type(value) is not str or not _BASE64(value):
        raise _Other
    return binascii.a2b_base64(value)


# By protobuf's names in JSON: the field, and the reader of its values.
_LISTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "int64List": ("int64_list", _integer), "int64_list": ("int64_list", _integer),
    "floatList": ("float_list", _float), "float_list": ("float_list", _float),
    "bytesList": ("bytes_list", _string), "bytes_list": ("bytes_list", _string),
}  # fmt: skip


def parse(text: bytes) -> Any:
    """Return the `Example` in a text; None where it is of another form, or wrong."""
    try:
        whole = json.loads(text.decode(), object_pairs_hook=_unique)
        features = _only(_only(whole, "features", dict), "feature", dict)
        example = Example()
        example.features.SetInParent()
        for name, feature in features.items():
            if type(feature) is not dict or len(feature) != 1:
                return None
            ((kind, listed),) = feature.items()
            field, read = _LISTS[kind]
            values = [read(value) for value in _only(listed, "value", list)]
            held = getattr(example.features.feature[name], field)
            held.SetInParent()
            held.value.extend(values)
    except (_Other, KeyError, ValueError, RecursionError, OverflowError):
        return None
    return example
