"""Arithmetic, matrices, quantization and random numbers."""

from __future__ import annotations

import numpy as np
from tests.ops.bad_inputs.case import gives, ints, longs, ones, refused, scalar, zeros

NUMBERS = [
    *[
        refused(op, ints(1, 2), ints(1, 0))
        for op in ("Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod")
    ],
    refused("FloorMod", longs(1), longs(0)),
    refused("FloorDiv", np.uint8([1]), np.uint8([0])),
    refused("Pow", ints(2), ints(-1)),
    refused("MatMul", zeros(2, 3), zeros(2, 3)),
    refused("MatMul", zeros(2), zeros(2)),
    gives((2, 2), "MatMul", zeros(2, 0), zeros(0, 2)),
    refused("BatchMatMul", zeros(2, 2, 3), zeros(3, 3, 2)),
    refused("BatchMatMulV2", zeros(2, 2, 3), zeros(3, 3, 2)),
    refused("AddN", [zeros(2), zeros(3)]),
    refused("AddV2", zeros(2), zeros(3)),
    refused("Cross", zeros(2), zeros(2)),
    refused("ClipByValue", zeros(2), zeros(3), ones(3)),
    refused("MatrixTriangularSolve", zeros(1, 0), zeros(0, 1)),
    refused("MatrixTriangularSolve", zeros(2, 3), zeros(2, 1)),
    refused("MatrixTriangularSolve", zeros(2, 2), zeros(3, 1)),
    refused("MatrixTriangularSolve", zeros(2, 2), zeros(2, 1)),
    gives((0, 0), "MatrixTriangularSolve", zeros(0, 0), zeros(0, 0)),
    refused("Cholesky", zeros(2, 3)),
    refused("Cholesky", zeros(2)),
    refused("Cholesky", -np.eye(2, dtype=np.float32)),
    gives((0, 2, 2), "Cholesky", zeros(0, 2, 2)),
    refused("CholeskyGrad", zeros(2, 3), zeros(2, 3)),
    refused("Svd", zeros(2)),
    gives((0,), "Svd", zeros(0, 2)),
    refused("Qr", zeros(2)),
    refused("MatrixInverse", zeros(2, 2)),
    refused("MatrixInverse", zeros(2, 3)),
    refused("MatrixSolve", zeros(2, 2), zeros(2, 1)),
    refused("MatrixSolve", np.eye(2, dtype=np.float32), zeros(3, 1)),
    refused("MatrixSolveLs", np.eye(2, dtype=np.float32), zeros(3, 1), np.float64(0)),
    refused("MatrixDeterminant", zeros(2, 3)),
    refused("LogMatrixDeterminant", zeros(2, 3)),
    refused("SelfAdjointEigV2", zeros(2, 3)),
    refused("Lu", zeros(2, 3)),
    refused("TridiagonalSolve", zeros(2, 3), zeros(3, 1)),
    refused("TridiagonalMatMul", zeros(1, 3), zeros(1, 3), zeros(1, 3), zeros(4, 1)),
    refused("CheckNumerics", np.float32([np.nan]), message=b"here"),
    refused("CheckNumerics", np.float32([np.inf]), message=b"here"),
    refused("FFT", np.complex64(1)),
    refused("RFFT", zeros(4), ints(-1)),
    refused("RFFT", zeros(4), ints(2, 2)),
    refused("RFFT2D", zeros(4), ints(2, 2)),
    refused("IRFFT", np.zeros(3, np.complex64), ints(-4)),
    *[
        refused("FakeQuantWithMinMaxVars", zeros(2), low, high)
        for low, high in ((zeros(2), ones(2)), (np.float32(0), ones(2)), (zeros(0), zeros(0)))
    ],
    refused("FakeQuantWithMinMaxVarsPerChannel", zeros(2, 3), zeros(2), ones(3)),
    refused("FakeQuantWithMinMaxVarsPerChannel", zeros(2, 3), np.float32(0), ones(3)),
    refused(
        "FakeQuantWithMinMaxVarsPerChannelGradient", zeros(2, 3), zeros(2, 3), zeros(2), ones(3)
    ),
    refused("FakeQuantWithMinMaxVarsGradient", zeros(2), zeros(3), np.float32(0), np.float32(1)),
    refused("FakeQuantWithMinMaxArgs", zeros(2), min=2.0, max=1.0),
    refused("FakeQuantWithMinMaxArgs", zeros(2), num_bits=1),
    refused("QuantizeAndDequantizeV2", zeros(2), np.float32(1), np.float32(0), range_given=True),
    refused("QuantizeAndDequantizeV2", zeros(2), zeros(2), ones(2), range_given=True),
    refused("QuantizeAndDequantizeV3", zeros(2), np.float32(0), np.float32(1), scalar(0)),
    refused("QuantizeV2", zeros(2), zeros(2), ones(2), T="quint8"),
    refused("Multinomial", zeros(3), scalar(1)),
    refused("Multinomial", zeros(2, 3), scalar(-1)),
    refused("Multinomial", zeros(2, 0), scalar(1)),
    refused("Multinomial", zeros(2, 3), ints(1, 1)),
    refused("RandomGamma", longs(2**40, 2**40), ones(1)),
    refused("RandomGamma", ints(-1), ones(1)),
    refused("RandomPoissonV2", longs(2**40, 2**40), ones(1)),
    refused("RandomPoissonV2", ints(-1), ones(1)),
    refused("RandomPoissonV2", scalar(2), ones(1)),
    refused("ParameterizedTruncatedNormal", ints(), *[np.float32(x) for x in (0, 1, -1, 1)]),
    refused("ParameterizedTruncatedNormal", ints(3), *[np.float32(x) for x in (0, 1, 1, -1)]),
    refused("ParameterizedTruncatedNormal", ints(3), *[np.float32(x) for x in (0, -1, -1, 1)]),
    refused("ParameterizedTruncatedNormal", ints(3), *[np.float32(x) for x in (0, 1, 2, 2)]),
    refused("ParameterizedTruncatedNormal", ints(3), zeros(2), ones(2), -ones(2), ones(2)),
    refused("ParameterizedTruncatedNormal", ints(-3), *[np.float32(x) for x in (0, 1, -1, 1)]),
    refused(
        "ParameterizedTruncatedNormal", longs(2**40, 2**40), *[np.float32(x) for x in (0, 1, -1, 1)]
    ),
    *[
        refused(op, longs([classes]), num_true=1, num_sampled=sampled, unique=True, range_max=5)
        for op, classes, sampled in (
            ("UniformCandidateSampler", 1, 6),
            ("LogUniformCandidateSampler", 1, 6),
            ("LearnedUnigramCandidateSampler", 9, 2),
            ("LearnedUnigramCandidateSampler", -1, 2),
            ("ThreadUnsafeUnigramCandidateSampler", 9, 2),
            ("ThreadUnsafeUnigramCandidateSampler", -1, 2),
        )
    ],
    refused(
        "UniformCandidateSampler",
        longs([1, 2]),
        num_true=1,
        num_sampled=1,
        unique=True,
        range_max=5,
    ),
    refused(
        "FixedUnigramCandidateSampler",
        longs([1]),
        num_true=1,
        num_sampled=9,
        unique=True,
        range_max=3,
        unigrams=[1.0, 1.0, 1.0],
    ),
    refused(
        "FixedUnigramCandidateSampler",
        longs([1]),
        num_true=1,
        num_sampled=1,
        unique=True,
        range_max=3,
        unigrams=[1.0],
    ),
    refused("ComputeAccidentalHits", longs([1]), longs([0], [1]), num_true=1),
    refused("ComputeAccidentalHits", longs([1, 2]), longs(1), num_true=1),
]
