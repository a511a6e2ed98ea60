"""Kernels of nn and quantized ops compute what TensorFlow 1.15.5 computed."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from tests.ops.nn.store import Reader

from stillflow.graph import dtypes
from stillflow.graph.card import find
from stillflow.graph.graph import Graph
from stillflow.ops.constants import constant, placeholder
from stillflow.runtime.session.session import Session

FILE = Reader(os.path.join(os.path.dirname(__file__), "recorded.npz"))
TOLERANCES = {"float16": 1.5e-2, "float32": 2e-5, "float64": 1e-9}

# Outputs whose shape the graph says to be one shorter than it is, in TF too.
OFF_BY_ONE = {("FractionalAvgPool", 1), ("FractionalAvgPool", 2)}
OFF_BY_ONE |= {("FractionalMaxPool", index) for _, index in OFF_BY_ONE}
# Scalars where the graph says vectors, in TF too.
OFF_BY_ONE |= {
    (f"FusedBatchNormGrad{kind}", index) for kind in ("", "V2", "V3") for index in (3, 4)
}


def is_left_out(case: Any, index: int) -> bool:
    """Return True if TF leaves an output unwritten."""
    if case["op"].startswith("FusedBatchNormGrad"):
        return False
    is_given = not case["attrs"].get("is_training", True)
    return case["op"].startswith("FusedBatchNorm") and is_given and index > 0


def tensor(value: Any, kind: str | None, fed: dict[Any, Any] | None) -> Any:
    if isinstance(value, list):
        return [tensor(item, kind, fed) for item in value]
    dtype = dtypes.as_dtype(kind) if kind and kind.startswith("q") else None
    if fed is not None:
        found = placeholder(dtype or dtypes.as_dtype(value.dtype))
        fed[found] = value
        return found
    return constant(value if dtype is None else value.view(dtype.as_numpy_dtype), dtype)


def computed(case: Any, feed: bool) -> list[Any]:
    attrs = {
        key: dtypes.as_dtype(value["type"]) if isinstance(value, dict) else value
        for key, value in case["attrs"].items()
    }
    with Graph().as_default() as graph:
        fed: dict[Any, Any] | None = {} if feed else None
        inputs = [
            tensor(FILE.get(place), kind, fed)
            for place, kind in zip(case["inputs"], case["types"], strict=True)
        ]
        result = find(case["op"])(*inputs, **attrs)
        outputs = list(result) if isinstance(result, tuple) else [result]
        with Session(graph=graph) as session:
            values = session.run(outputs, fed)
    for index, (output, value) in enumerate(zip(outputs, values, strict=True)):
        if (case["op"], index) not in OFF_BY_ONE:
            assert output.shape.is_compatible_with(np.shape(value)), case
    return [np.asarray(value) for value in values]


def differing(case: Any, feed: bool) -> list[str]:
    """Return the differences in a case."""
    wrong = []
    for index, (got, place) in enumerate(zip(computed(case, feed), case["outputs"], strict=True)):
        if is_left_out(case, index):
            continue
        want = FILE.get(place)
        title = f"output {index} for {case['types']} {case['attrs']}"
        if want.dtype != got.dtype or want.shape != got.shape:
            wrong.append(f"{title}: {got.dtype}{got.shape}, not {want.dtype}{want.shape}")
            continue
        tolerance = TOLERANCES.get(want.dtype.name, 0)
        scale = max(1.0, float(np.max(np.abs(np.nan_to_num(want)), initial=0)))
        same = np.isclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        if not np.all(same):
            at = tuple(np.argwhere(~same)[0])
            wrong.append(f"{title} at {at}: {got[at]}, not {want[at]}")
    return wrong


@pytest.mark.parametrize("feed", [False, True], ids=["known", "fed"])
@pytest.mark.parametrize("op", sorted({case["op"] for case in FILE.cases}))
def test_computes_what_tensorflow_computed(op: str, feed: bool) -> None:
    cases = [case for case in FILE.cases if case["op"] == op]
    assert not [text for case in cases for text in differing(case, feed)]
