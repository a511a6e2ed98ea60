"""Random operations with seeds, whose values TensorFlow 1.15.5 recorded (see record.py).

This file is read by Python 3.7 as well. A case is the operation, its inputs in the signature's
order, and its attributes; types are given by name.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np

SEEDS = {"seed": 11, "seed2": 22}
RUNS = 2

Case = Tuple[str, list, Dict[str, Any]]
CASES: Dict[str, Case] = {}


def case(name: str, op_type: str, *inputs: Any, **attrs: Any) -> None:
    CASES[name] = (op_type, list(inputs), attrs)


def f32(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.float32)


def i32(*values: int) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.int32)


def i64(*values: int) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.int64)


SHAPE = np.array([101], np.int32)  # not a whole number of blocks
for kind in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        case(f"{kind}/{dtype}", kind, SHAPE, dtype=dtype, **SEEDS)
    case(f"{kind}/large", kind, i64(70, 11), dtype="float32", seed=-5, seed2=2**40)
case(
    "RandomUniform/documented", "RandomUniform", i32([4]), dtype="float32", seed=87654321, seed2=42
)
case("RandomUniform/second seed", "RandomUniform", i32([9]), dtype="float32", seed=0, seed2=7)
case("RandomUniform/scalar", "RandomUniform", np.zeros(0, np.int32), dtype="float32", **SEEDS)
case("RandomUniform/empty", "RandomUniform", i32(0, 3), dtype="float32", **SEEDS)

for low, high in ((0, 7), (-5, 1000), (-(2**31), 2**31 - 1), (5, 6), (0, 64)):
    case(f"RandomUniformInt/int32 {low}", "RandomUniformInt", SHAPE, i32(low), i32(high), **SEEDS)
for low, high in ((0, 7), (-5, 2**40), (-(2**63), 2**63 - 1)):
    case(f"RandomUniformInt/int64 {low}", "RandomUniformInt", SHAPE, i64(low), i64(high), **SEEDS)

ALPHA = (0.1, 0.5, 0.99, 1.0, 1.5, 10.0, 300.0)
for dtype in ("float16", "float32", "float64"):
    case(f"RandomGamma/{dtype}", "RandomGamma", i32(20, 2), np.array(ALPHA, dtype), **SEEDS)
for dtype in ("float32", "float64"):
    alpha = np.geomspace(1e-2, 1e3, 9).astype(dtype)[:, None]
    sample = np.geomspace(1e-4, 2e3, 11).astype(dtype)
    case(f"RandomGammaGrad/{dtype}", "RandomGammaGrad", alpha, sample)

RATES = (0.0, 0.5, 3.0, 9.9, 10.0, 25.0, 1000.0)
for dtype in ("float16", "float32", "float64", "int32", "int64"):
    rates = np.array(RATES, "float64" if dtype == "int64" else dtype)
    case(f"RandomPoissonV2/{dtype}", "RandomPoissonV2", i32([30]), rates, dtype=dtype, **SEEDS)
case("RandomPoisson/float16", "RandomPoisson", i32([30]), np.array(RATES, np.float16), **SEEDS)

LOGITS = [[0.0, 1.0, -np.inf, 3.0], [5.0, 5.0, 5.0, 5.0], [-1e4, 0.0, 1e4, 1.0]]
for dtype in ("float16", "float32", "float64"):
    case(f"Multinomial/{dtype}", "Multinomial", np.array(LOGITS, dtype), i32(17), **SEEDS)
case("Multinomial/int32", "Multinomial", f32(LOGITS), i32(3), output_dtype="int32", **SEEDS)
case("Multinomial/hopeless", "Multinomial", f32([[-np.inf, -np.inf]]), i32(3), **SEEDS)

case("RandomShuffle/vector", "RandomShuffle", i32(range(1000)), **SEEDS)
case("RandomShuffle/matrix", "RandomShuffle", i64(range(60)).reshape(20, 3), **SEEDS)
case("RandomShuffle/two", "RandomShuffle", i32(1, 2), **SEEDS)
case("RandomShuffle/one", "RandomShuffle", i32([1]), **SEEDS)
case("RandomShuffle/bool", "RandomShuffle", np.array([True, False, True, True]), **SEEDS)
IMAGE = np.arange(270, dtype=np.float32).reshape(10, 9, 3)
case("RandomCrop/both", "RandomCrop", IMAGE, i64(4, 5), **SEEDS)
case("RandomCrop/width", "RandomCrop", IMAGE, i64(10, 2), **SEEDS)


def bounded(name: str, shape: Any, *parameters: Any, dtype: str = "float32") -> None:
    arrays = [np.array(value, dtype) for value in parameters]
    case(name, "ParameterizedTruncatedNormal", i32(*shape), *arrays, **SEEDS)


INF = np.inf
bounded("bounded/normal", (7, 30), 0.0, 1.0, -2.0, 2.0)
bounded("bounded/uniform", (7, 30), 0.0, 1.0, -0.5, 0.4)
bounded("bounded/exponential", (7, 30), 0.0, 1.0, 3.0, 8.0)
bounded("bounded/above", (7, 30), 0.0, 1.0, 3.0, INF)
bounded("bounded/below", (7, 30), 2.0, 0.5, -INF, 1.0)
bounded(
    "bounded/batches", (5, 33), [0, 1, 2, 3, -9], [1, 2, 3, 4, 0.5], [-1] * 5, [1, 1, 1, 10, 99]
)
bounded("bounded/half", (150, 1), 0.0, 1.0, -1.0, 0.2, dtype="float16")
bounded("bounded/float64", (150, 1), 0.0, 1.0, 3.0, 3.1, dtype="float64")
bounded("bounded/normal float64", (150, 1), 0.0, 1.0, -1.0, 1.5, dtype="float64")

for kind in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
    case(f"{kind}/int32", kind, SHAPE, i32(3, -4), dtype="float32")
    case(f"{kind}/int64", kind, SHAPE, i64(2**40, -(2**50)), dtype="float64")
case("StatelessRandomUniformInt", "StatelessRandomUniformInt", SHAPE, i32(3, 4), i32(3), i32(77))
case("StatelessMultinomial", "StatelessMultinomial", f32(LOGITS), i32(7), i32(1, 2))

CLASSES = i64(0, 3, 7, 1, 2, 9).reshape(3, 2)
for unique in (True, False):
    drawn = {"num_true": 2, "num_sampled": 15, "unique": unique, **SEEDS}
    for kind in ("Uniform", "LogUniform", "LearnedUnigram", "ThreadUnsafeUnigram"):
        name = f"{kind}CandidateSampler"
        case(f"{name}/{unique}", name, CLASSES, range_max=40, **drawn)
    case(f"AllCandidateSampler/{unique}", "AllCandidateSampler", CLASSES, **drawn)
    drawn["num_sampled"] = 8
    weights = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0]
    case(
        f"FixedUnigramCandidateSampler/{unique}", "FixedUnigramCandidateSampler", CLASSES,
        range_max=12, unigrams=weights, num_reserved_ids=1, distortion=0.75, **drawn,
    )  # fmt: skip
case(
    "FixedUnigramCandidateSampler/sharded", "FixedUnigramCandidateSampler", CLASSES, range_max=4,
    unigrams=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], num_reserved_ids=2, num_shards=3,
    shard=1, num_true=2, num_sampled=9, unique=False, **SEEDS,
)  # fmt: skip
drawn = {"num_true": 2, "unique": True, **SEEDS}
case("candidates/all", "UniformCandidateSampler", CLASSES, range_max=9, num_sampled=9, **drawn)
case("candidates/power", "UniformCandidateSampler", CLASSES, range_max=64, num_sampled=9, **drawn)
case(
    "candidates/many",
    "LogUniformCandidateSampler",
    CLASSES,
    range_max=9999,
    num_sampled=300,
    **drawn,
)
case("ComputeAccidentalHits", "ComputeAccidentalHits", CLASSES, i64(9, 0, 3, 4, 0), num_true=2)


# Operations on one generator variable, in order: the operation, its inputs after the variable,
# its attributes.
STATE = (2**63 - 5, -7, 1234567890123)
PHILOX = i64(1)
STEPS = [
    ("StatefulUniform", [PHILOX, i64([7])], {"dtype": "float32"}),
    ("StatefulUniform", [PHILOX, i32([7])], {"dtype": "bfloat16"}),
    ("StatefulStandardNormalV2", [PHILOX, i64(3, 3)], {"dtype": "float32"}),
    ("StatefulTruncatedNormal", [PHILOX, i64([9])], {"dtype": "float64"}),
    ("StatefulUniformInt", [PHILOX, i64([9]), i64(-5), i64(2**40)], {}),
    ("StatefulUniformInt", [PHILOX, i64([9]), i32(-5), i32(7)], {}),
    ("RngSkip", [PHILOX, i64(12345)], {}),
    ("StatefulUniformFullInt", [PHILOX, i64([5])], {"dtype": "uint64"}),
    ("StatefulUniformFullInt", [PHILOX, i64([5])], {"dtype": "int32"}),
]


def binomial(shape: Any, counts: Any, probs: Any, kind: str, dtype: str) -> None:
    inputs = [PHILOX, i32(*shape), np.array(counts, kind), np.array(probs, kind)]
    STEPS.append(("StatefulRandomBinomial", inputs, {"dtype": dtype}))


binomial((30, 1), 10.0, 0.3, "float32", "int32")  # waiting times
binomial((30, 1), 1000.0, 0.3, "float64", "int64")  # rejection
binomial((30, 1), 1000.0, 0.8, "float32", "float32")
binomial((30, 1), 12.0, 0.9, "float64", "float64")
binomial((6, 5), [5, 50, 500, 0, 7, 9], [0.5, 0.5, 0.01, 0.5, 1.0, 0.0], "float64", "int64")
binomial((3, 50), [40.0], [0.25, 0.75, 0.999], "float16", "float16")
