"""Element types and values on which the kernels of math ops are compared with TensorFlow's.

Runs under Python 3.7 and TensorFlow 1.15.5 as well, where `record.py` uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Case = Any  # a tuple: op, element type, inputs, attributes

FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + COMPLEX + INTEGERS

SPECIAL = [np.nan, np.inf, -np.inf, -0.0]
ANYWHERE = [
    -2.5, -1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.25, 7.0, 11.5,
]  # fmt: skip
POSITIVE = [0.0625, 0.1, 0.25, 0.3, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.5, 7.25, 9.0, 12.0]
WITHIN_ONE = [-0.99, -0.75, -0.5, -0.25, 0.125, 0.3, 0.6, 0.9, 0.95, 0.999, 1.0, -1.0, -0.1]
WHOLE = [0, 1, 2, 3, 7, 10, -1, -2, -5, -7, 5, 6]


def _words(text: str) -> list[str]:
    return text.split()


UNARY = _words(
    "Sqrt Rsqrt Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh "
    "Sigmoid Reciprocal Inv Square Neg Sign Round"
)
UNARY_REAL = _words(
    "Abs Erf Erfc Lgamma Digamma BesselI0e BesselI1e Floor Ceil Rint IsNan IsInf IsFinite"
)
BINARY = _words(
    "Add AddV2 Sub Mul Div RealDiv TruncateDiv FloorDiv DivNoNan MulNoNan Xdivy Xlogy "
    "SquaredDifference Maximum Minimum FloorMod TruncateMod Mod Atan2 NextAfter Pow Equal NotEqual "
    "Less LessEqual Greater GreaterEqual ApproximateEqual BitwiseAnd BitwiseOr BitwiseXor "
    "LeftShift RightShift SqrtGrad RsqrtGrad ReciprocalGrad TanhGrad SigmoidGrad"
)
GAMMA = _words("Igamma Igammac Zeta Polygamma IgammaGradA")
REDUCTIONS = _words("Sum Prod Mean Max Min EuclideanNorm")


def storage(dtype: str) -> str:
    """Return the numpy type of arrays with values of `dtype`: numpy itself has no bfloat16."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def values(dtype: str, reals: Any = ANYWHERE, special: bool = False, extremes: bool = False) -> Any:
    """Return a vector of values of an element type.

    Args:
      reals: the values of floating-point types.
      special: whether NaN, infinities and -0 follow them.
      extremes: whether the largest and smallest integers follow the others.
    """
    if dtype in FLOATS:
        return np.array(list(reals) + (SPECIAL if special else []), storage(dtype))
    if dtype in COMPLEX:
        real = np.array([-1.5, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 0.75, 1.25, -0.25, 3.0, 0.5])
        imag = np.array([0.5, -1.0, 1.0, 0.0, -0.25, 2.0, -0.75, 0.125, -2.0, 1.5, 0.5, 1.0])
        return (real + 1j * imag).astype(dtype)
    if dtype == "bool":
        return np.array([True, False, True, True])
    info = np.iinfo(dtype)
    whole = WHOLE if info.min < 0 else [0, 1, 2, 3, 7, 10, 5, 6, 9, 12, 4, 8]
    edges = [info.max, info.max - 1, info.min, info.min + 1]
    return np.array(whole + (edges if extremes else []), dtype)


def pairs(vector: Any) -> Any:
    """Every pair of elements, as two vectors."""
    return np.repeat(vector, len(vector)), np.tile(vector, len(vector))


def unary_cases() -> Iterator[Case]:
    for op in UNARY:
        for dtype in FLOATS:
            yield op, dtype, [values(dtype, ANYWHERE + WITHIN_ONE + POSITIVE, True)], {}
        for dtype in COMPLEX + ["int32", "int64"]:
            yield op, dtype, [values(dtype)], {}
    for op in UNARY_REAL:
        for dtype in FLOATS:
            yield op, dtype, [values(dtype, ANYWHERE + POSITIVE, True)], {}
    for dtype in SIGNED:
        yield "Abs", dtype, [values(dtype, extremes=True)], {}
    for op in ("Invert", "PopulationCount"):
        for dtype in INTEGERS:
            yield op, dtype, [values(dtype, extremes=True)], {}


def binary_cases() -> Iterator[Case]:
    for op in BINARY:
        divides = op.endswith(("Div", "Mod"))
        for dtype in NUMBERS:
            x, y = pairs(values(dtype, ANYWHERE[2:10], True, not divides and "Shift" not in op))
            if op == "Pow" and dtype in SIGNED:
                x, y = pairs(np.array([0, 1, 2, 3, -2], dtype))
                y = np.abs(y)
            if divides and dtype in INTEGERS:
                x, y = x[y != 0], y[y != 0]
            if "Shift" in op and dtype in INTEGERS:
                y = np.clip(y, 0, 7).astype(y.dtype)
            yield op, dtype, [x, y], {}
    for op in GAMMA:
        for dtype in ("float32", "float64"):
            yield op, dtype, list(pairs(values(dtype, POSITIVE + [20.0, 0.0]))), {}
    for dtype in ("float32", "float64"):
        a, b = pairs(values(dtype, POSITIVE[::2] + [0.0, -1.0]))
        x = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0, 1.5], dtype)
        yield "Betainc", dtype, [np.repeat(a, 8), np.repeat(b, 8), np.tile(x, len(a))], {}


def reduction_cases() -> Iterator[Case]:
    for op in REDUCTIONS:
        for dtype in NUMBERS:
            cube = values(dtype)[:12].reshape(2, 3, 2)
            cube = cube / 2 if dtype == "float16" else cube
            for axes in ([0], [1], [0, 2], [0, 1, 2], [-1], []):
                yield op, dtype, [cube, np.array(axes, np.int32)], {}
            yield op, dtype, [cube, np.array([1, 0], np.int64)], {"keep_dims": True}
            if op != "Mean":  # which is 0 or NaN, by the type
                yield op, dtype, [cube[:0], np.array([0], np.int32)], {}
    for op in ["Max", "Min", "Sum", "Mean", "ArgMax", "ArgMin"]:
        for dtype in FLOATS:
            rows = [[np.nan, 1, 2], [1, np.nan, 3], [np.inf, -np.inf, 0], [np.nan] * 3]
            axis = np.int32(1)
            yield op, dtype, [np.array(rows, storage(dtype)), axis], {}
    for op in ("ArgMax", "ArgMin"):
        for dtype in FLOATS + INTEGERS:
            for axis in (0, 1, -1):
                matrix = np.concatenate([values(dtype)[:6]] * 2).reshape(3, 4)
                yield op, dtype, [matrix, np.int32(axis)], {}


def scan_cases() -> Iterator[Case]:
    flags = [(False, False), (False, True), (True, False), (True, True)]
    for exclusive, reverse in flags:
        attrs = {"exclusive": exclusive, "reverse": reverse}
        for op in ("Cumsum", "Cumprod"):
            for dtype in NUMBERS:
                for axis in (0, -1):
                    yield op, dtype, [values(dtype)[:6].reshape(2, 3), np.int32(axis)], attrs
        for dtype in ("float16", "float32", "float64"):
            matrix = np.array([[-np.inf, 1.0, 2.5], [0.5, -3.0, -np.inf]], storage(dtype))
            yield "CumulativeLogsumexp", dtype, [matrix, np.int32(1)], attrs


def segment_cases() -> Iterator[Case]:
    for dtype in NUMBERS:
        rows = values(dtype)[:8].reshape(4, 2)
        for op in ("Sum", "Mean", "Prod", "Max", "Min"):
            for ids in (np.array([0, 0, 2, 2], np.int32), np.array([0, 1, 1, 1], np.int64)):
                yield "Segment" + op, dtype, [rows, ids], {}
        for op in ("Sum", "Prod", "Max", "Min"):
            for ids in ([1, 0, -1, 1], [[1, 0], [2, 2], [0, 1], [-1, 3]]):
                inputs = [rows, np.array(ids, np.int32), np.int32(4)]
                yield "UnsortedSegment" + op, dtype, inputs, {}
    picked = [np.array([1, 0, 3, 1], np.int32), np.array([0, 0, 2, 2], np.int32)]
    for op in ("Sum", "Mean", "SqrtN"):
        for dtype in NUMBERS if op == "Sum" else ["float32", "float64"]:
            rows = values(dtype)[:8].reshape(4, 2)
            yield "SparseSegment" + op, dtype, [rows, *picked], {}
            counted = "SparseSegment" + op + "WithNumSegments"
            yield counted, dtype, [rows, *picked, np.int32(5)], {}
            if op != "Sum":
                yield "SparseSegment" + op + "Grad", dtype, [rows, *picked, np.int32(6)], {}


def product_cases() -> Iterator[Case]:
    for dtype in NUMBERS:
        numbers = values(dtype)[:6]
        for ta in (False, True):
            for tb in (False, True):
                a = numbers.reshape((3, 2) if ta else (2, 3))
                b = numbers[::-1].reshape((2, 3) if tb else (3, 2))
                flags = {"adj_x": ta, "adj_y": tb}
                yield "MatMul", dtype, [a, b], {"transpose_a": ta, "transpose_b": tb}
                yield "BatchMatMulV2", dtype, [np.stack([a, a + a]), b[None]], flags
                yield "BatchMatMul", dtype, [np.stack([a, a]), np.stack([b, b + b])], flags
        yield "Cross", dtype, [numbers.reshape(2, 3), values(dtype)[2:8].reshape(2, 3)], {}
        yield "AddN", dtype, [[numbers, numbers, numbers]], {}
        if dtype not in COMPLEX:
            yield "ClipByValue", dtype, [numbers, numbers[2], numbers[4]], {}


def cast_cases() -> Iterator[Case]:
    outside = [1e3, -1e3, 255.5, 300.7, -300.7, 65000.0, -65000.0]
    far = [1e10, -1e10, 3e9, -3e9, 1e20, -1e20]
    thirds = [x / 3 for x in ANYWHERE]
    for source in [*NUMBERS, "bool"]:
        for target in [*NUMBERS, "bool"]:
            given = values(source, ANYWHERE + thirds + outside, True, True)
            yield "Cast", source, [given], {"DstT": target}
        if source in FLOATS:
            for target in INTEGERS:
                yield "Cast", source, [np.array(far, storage(source))], {"DstT": target}
    for source, target in (("float32", "float16"), ("float32", "bfloat16"), ("float64", "float32")):
        given = values(source, ANYWHERE + thirds)
        yield "Cast", source, [given], {"DstT": target, "Truncate": True}


def all_cases() -> dict[str, Case]:
    """Every case by a name of its own."""
    makers = [
        unary_cases, binary_cases, reduction_cases, scan_cases, segment_cases, product_cases,
        cast_cases,
    ]  # fmt: skip
    found = {}  # type: Dict[str, Case]
    for make in makers:
        for case in make():
            attrs = ",".join("{}={}".format(*item) for item in case[3].items())
            prefix = "{}/{}({})".format(case[0], case[1], attrs)
            count = sum(name.startswith(prefix) for name in found)
            found["{}#{}".format(prefix, count)] = case
    return found
