"""Collection of samples of nn and quantized ops' cards, in all types, for `record.py`.

python -m tests.ops.nn.collect
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.ops.nn.store import Writer

from stillflow.graph.card import Card
from stillflow.graph.dtypes import DType
from stillflow.ops.samples import Sample

PATH = os.path.join(tempfile.gettempdir(), "stillflow_nn_cases.npz")
PACKAGES = ("stillflow.ops.nn", "stillflow.ops.quantization")


def cards() -> Iterator[Card]:
    """All cards of the packages, by name."""
    found: dict[str, Card] = {}
    for package in map(importlib.import_module, PACKAGES):
        for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            members = vars(importlib.import_module(info.name)).values()
            found.update({card.name: card for card in members if isinstance(card, Card)})
    for _, card in sorted(found.items()):
        yield card


def plain(value: Any, dtype: DType | None) -> Any:
    """Return an argument as an array of numbers, in the type that its op takes."""
    array = np.asarray(value)
    if array.dtype.names:
        return array[array.dtype.names[0]]
    if dtype is not None and not dtype.is_quantized:
        return array.astype(dtype.as_numpy_dtype)
    return array.astype(np.int32) if array.dtype == np.int64 and isinstance(value, list) else array


def cases_of(card: Card, sample: Sample) -> Iterator[tuple[list[Any], dict[str, str]]]:
    """Yield the arguments as they are, and with each type attribute in each type it may have."""
    arguments = list(zip(card.signature.inputs, sample.args, strict=True))
    own = {}
    for arg, value in arguments:
        first = np.asarray(value[0] if arg.is_list else value)
        if arg.type_attr is not None:
            kind = first.dtype.names[0] if first.dtype.names else first.dtype.name
            if kind == "int64" and isinstance(value, list) and not arg.is_list:
                kind = "int32"
            own.setdefault(arg.type_attr, kind)
    choices = [own]
    for attr, kind in own.items():
        for dtype in card.signature.attrs[attr].allowed or ():
            is_own = dtype.name == kind or kind.startswith("q") or dtype.is_quantized
            if not is_own and dtype.name != "bfloat16":  # TF computes that another way
                choices.append({**own, attr: dtype.name})
    for types in choices:
        inputs = []
        for arg, value in arguments:
            kind = types.get(arg.type_attr or "")
            dtype = arg.dtype if kind is None or kind.startswith(("q", "object")) else None
            chosen = dtype if dtype is not None else _numbers(kind)
            inputs.append(
                [_cast(item, chosen) for item in value] if arg.is_list else _cast(value, chosen)
            )
        yield inputs, types


def _numbers(kind: str | None) -> Any:
    return None if kind is None or kind.startswith(("q", "object")) else np.dtype(kind)


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(dtype, DType):
        return plain(value, dtype)
    array = plain(value, None)
    if dtype is None or array.dtype == dtype:
        return array
    return (np.abs(array) if dtype.kind == "u" else array).astype(dtype)


def attribute(value: Any) -> Any:
    return {"type": value.name} if isinstance(value, DType) else value


def main() -> None:
    writer, cases = Writer(), []
    for card in cards():
        for sample in card.samples_part() if card.samples_part is not None else ():
            if not isinstance(sample, Sample):
                continue
            for inputs, types in cases_of(card, sample):
                cases.append({
                    "op": card.name,
                    "inputs": [writer.put(value) for value in inputs],
                    "types": [types.get(arg.type_attr or "") for arg in card.signature.inputs],
                    "attrs": {key: attribute(value) for key, value in sample.attrs.items()},
                })  # fmt: skip
    writer.save(PATH, cases)
    print(len(cases), "cases,", os.path.getsize(PATH), "bytes")


if __name__ == "__main__":
    main()
