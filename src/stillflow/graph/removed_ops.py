"""Operations that graphs from some version on must not have any more, with replacements.

Their cards stay, for old graphs: a GraphDef that says it is older has them, and so may a graph
that one was imported into.
"""

from __future__ import annotations

from stillflow import errors

_WORD2VEC = (
    "Moving word2vec into tensorflow_models/tutorials and deprecating its ops here as a result"
)
# Version of the GraphDef: op: TensorFlow's message.
_REMOVED: dict[int, dict[str, str]] = {
    2: {
        "AdjustContrast": "Use AdjustContrastv2 instead",
    },
    3: {
        "TileGrad": "TileGrad has been replaced with reduce_sum",
    },
    7: {
        "TopK": "Use TopKV2 instead",
    },
    8: {
        "Old": "For reasons",
        "RandomCrop": "Random crop is now pure Python",
    },
    9: {
        "BatchNormWithGlobalNormalization": "Use tf.nn.batch_normalization()",
        "BatchNormWithGlobalNormalizationGrad": "Use tf.nn.batch_normalization()",
    },
    10: {
        "Conv3DBackpropFilter": "Use Conv3DBackpropFilterV2",
        "Conv3DBackpropInput": "Use Conv3DBackpropInputV2",
    },
    11: {
        "BatchSelfAdjointEig": "Use SelfAdjointEigV2 instead.",
        "SelfAdjointEig": "Use SelfAdjointEigV2 instead.",
    },
    13: {
        "BatchCholesky": "Use Cholesky instead.",
        "BatchCholeskyGrad": "Use CholeskyGrad instead.",
        "BatchMatrixDeterminant": "Use MatrixDeterminant instead.",
        "BatchMatrixInverse": "Use MatrixInverse instead.",
        "BatchMatrixSolve": "Use MatrixSolve instead.",
        "BatchMatrixSolveLs": "Use MatrixSolveLs instead.",
        "BatchMatrixTriangularSolve": "Use MatrixTriangularSolve instead.",
        "BatchSelfAdjointEigV2": "Use SelfAdjointEigV2 instead.",
        "BatchSvd": "Use Svd instead.",
    },
    14: {
        "BatchMatrixBandPart": "Use MatrixBandPart",
        "BatchMatrixDiag": "Use MatrixDiag",
        "BatchMatrixDiagPart": "Use MatrixDiagPart",
        "BatchMatrixSetDiag": "Use MatrixSetDiag",
    },
    15: {
        "AudioSummary": "Use AudioSummaryV2.",
        "BatchFFT": "Use FFT",
        "BatchFFT2D": "Use FFT2D",
        "BatchFFT3D": "Use FFT3D",
        "BatchIFFT": "Use IFFT",
        "BatchIFFT2D": "Use IFFT2D",
        "BatchIFFT3D": "Use IFFT3D",
    },
    16: {
        "TensorArray": "Use TensorArrayV3",
        "TensorArrayClose": "Use TensorArrayCloseV3",
        "TensorArrayConcat": "Use TensorArrayGradV3",
        "TensorArrayGather": "Use TensorArrayGatherV3",
        "TensorArrayGrad": "Use TensorArrayGradV3",
        "TensorArrayPack": "Use TensorArrayGatherV3 with RangeOp",
        "TensorArrayRead": "Use TensorArrayReadV3",
        "TensorArraySize": "Use TensorArraySizeV3",
        "TensorArraySplit": "Use TensorArraySplitV3",
        "TensorArrayWrite": "Use TensorArrayWriteV3",
    },
    19: {
        "NegTrain": _WORD2VEC,
        "Skipgram": _WORD2VEC,
        "TensorArrayScatter": "Use TensorArrayGradV3",
    },
    20: {
        "TensorArrayUnpack": "Use TensorArrayScatterV3 with RangeOp",
    },
    22: {
        "QuantizeAndDequantize": "Replaced by QuantizeAndDequantizeV2",
    },
    23: {
        "PlaceholderV2": "Placeholder now behaves the same as PlaceholderV2.",
    },
    25: {
        "RandomPoisson": "Replaced by RandomPoissonV2",
    },
    26: {
        "FixedLengthRecordReader": "Use FixedLengthRecordReaderV2",
        "IdentityReader": "Use IdentityReaderV2",
        "TFRecordReader": "Use TFRecordReaderV2",
        "TensorArrayCloseV2": "Use TensorArrayCloseV3",
        "TensorArrayGatherV2": "Use TensorArrayGatherV3",
        "TensorArrayGradV2": "Use TensorArrayGradV3",
        "TensorArrayReadV2": "Use TensorArrayReadV3",
        "TensorArrayScatterV2": "Use TensorArrayScatterV3",
        "TensorArraySizeV2": "Use TensorArraySizeV3",
        "TensorArraySplitV2": "Use TensorArraySplitV3",
        "TensorArrayV2": "Use TensorArrayV3",
        "TensorArrayWriteV2": "Use TensorArrayWriteV3",
        "TextLineReader": "Use TextLineReaderV2",
    },
    27: {
        "MatrixExponential": "Use Python implementation tf.linalg.matrix_exponential instead.",
    },
    29: {
        "StatefulStandardNormal": "Use StatefulStandardNormalV2 instead",
    },
}
#: Op name: the version of graphs that removed it, and TensorFlow's message.
REMOVED = {
    name: (version, explanation)
    for version, ops in _REMOVED.items()
    for name, explanation in ops.items()
}


def refusal(name: str, producer: int) -> str | None:
    """Why graphs of this version must not have an op; None if they may."""
    version, explanation = REMOVED.get(name, (producer + 1, ""))
    if producer < version:
        return None
    return (
        f"Op {name} is not available in GraphDef version {producer}. It has been removed in "
        f"version {version}. {explanation}."
    )


def check(name: str, producer: int) -> None:
    """Raise UnimplementedError for an op that GraphDefs of this version must not have."""
    message = refusal(name, producer)
    if message is not None:
        raise errors.unimplemented(message)
