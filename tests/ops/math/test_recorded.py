"""Kernels compute what TensorFlow 1.15.5 computed, for every element type it has them for."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest
from tests.ops.math.cases import Case, all_cases

from stillflow.graph import dtypes
from stillflow.graph.card import find
from stillflow.graph.graph import Graph
from stillflow.ops.constants import constant
from stillflow.ops.math.cast import cast
from stillflow.runtime.session.session import Session

FILE = np.load(os.path.join(os.path.dirname(__file__), "recorded.npz"))
INDEX: dict[str, Any] = json.loads(FILE["index"].tobytes())
ARRAYS = {kind: FILE[kind] for kind in FILE.files if kind != "index"}
CASES = all_cases()

TOLERANCES = {
    "float16": 2e-3, "bfloat16": 1.6e-2, "float32": 3e-6, "complex64": 3e-6, "float64": 1e-12,
    "complex128": 1e-12,
}  # fmt: skip

# Where libraries approximate differently.
OWN_TOLERANCES = {
    "Polygamma/float32": 1e-5,  # TF takes the exponential of lgamma in single precision
    "Igamma/float64": 1e-9,  # the asymptotic series near a = x
    "Igammac/float64": 1e-9,
    "Igamma/float32": 2e-5,
    "Igammac/float32": 2e-5,
}

# Elements that are left out, each for a reason.
LEFT_OUT = {
    # TF approximates these where several numbers are computed at once: infinity gives NaN, and
    # the sign of -0 is lost.
    "Rsqrt/float32": lambda x: np.isinf(x) | ((x == 0) & np.signbit(x)),
    "Sqrt/float32": np.isinf,
}


def expected(name: str) -> Any:
    kind, start, shape = INDEX[name]
    return ARRAYS[kind][start : start + int(np.prod(shape))].reshape(shape)


def computed(case: Case) -> Any:
    op, dtype, inputs, attrs = case
    given = {key: dtypes.as_dtype(v) if key == "DstT" else v for key, v in attrs.items()}
    with Graph().as_default() as graph:
        tensors = [tensor(value, dtype) for value in inputs]
        result = find(op)(*tensors, **given)
        if result.dtype == dtypes.bfloat16:
            result = cast(result, dtypes.float32)
        with Session(graph=graph) as session:
            value = np.asarray(session.run(result))
        assert result.shape.is_compatible_with(value.shape)
        return value


def tensor(value: Any, dtype: str) -> Any:
    if isinstance(value, list):
        return [tensor(item, dtype) for item in value]
    is_wide = value.dtype == np.float32 and dtype in ("float16", "bfloat16")
    return cast(constant(value), dtype) if is_wide else constant(value)


def differing(name: str, case: Case) -> str:
    """Return the difference in a case, empty if there is none."""
    op, dtype, inputs, _ = case
    want, got = expected(name), computed(case)
    if want.dtype != got.dtype or want.shape != got.shape:
        return f"{name}: {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    key = f"{op}/{dtype}"
    if want.dtype.kind in "fc" and op != "Cast":
        tolerance = OWN_TOLERANCES.get(key, TOLERANCES[dtype])
        same = np.isclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)
    else:
        same = (got == want) | ((got != got) & (want != want))
    if key in LEFT_OUT:
        same |= LEFT_OUT[key](inputs[0])
    if np.all(same):
        return ""
    at = tuple(np.argwhere(~same)[0])
    return f"{name} at {at}: {got[at]}, not {want[at]} ({np.sum(~same)} of {same.size} differ)"


OPS = sorted({case[0] for name, case in CASES.items() if name in INDEX})


@pytest.mark.parametrize("op", OPS)
def test_computes_what_tensorflow_computed(op: str) -> None:
    cases = {name: case for name, case in CASES.items() if case[0] == op and name in INDEX}
    wrong = [differing(name, case) for name, case in cases.items()]
    assert not list(filter(None, wrong))


def test_every_recorded_result_belongs_to_a_case() -> None:
    assert set(INDEX) <= set(CASES)
