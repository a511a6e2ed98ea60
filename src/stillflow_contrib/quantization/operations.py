"""The operations of tf.contrib.quantization: those on numbers and of neural networks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from stillflow.ops import raw_ops

# Those of TensorFlow's generated modules `gen_math_ops` and `gen_nn_ops`.
_OPERATIONS = """
    Abs AccumulateNV2 Acos Acosh Add AddN AddV2 All Angle Any ApproximateEqual ArgMax ArgMin
    Asin Asinh Atan Atan2 Atanh AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BatchMatMul
    BatchMatMulV2 BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad
    BesselI0e BesselI1e Betainc BiasAdd BiasAddGrad BiasAddV1 Bincount Bucketize Cast Ceil
    ClipByValue CompareAndBitpack Complex ComplexAbs Conj Conv2D Conv2DBackpropFilter
    Conv2DBackpropInput Conv3D Conv3DBackpropFilter Conv3DBackpropFilterV2 Conv3DBackpropInput
    Conv3DBackpropInputV2 Cos Cosh Cross Cumprod Cumsum CumulativeLogsumexp DataFormatDimMap
    DataFormatVecPermute DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter
    DepthwiseConv2dNativeBackpropInput Digamma Dilation2D Dilation2DBackpropFilter
    Dilation2DBackpropInput Div DivNoNan Elu EluGrad Equal Erf Erfc EuclideanNorm Exp Expm1
    Floor FloorDiv FloorMod FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool
    FractionalMaxPoolGrad FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2
    FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 FusedPadConv2D
    FusedResizeAndPadConv2D Greater GreaterEqual HistogramFixedWidth Igamma IgammaGradA Igammac
    Imag InTopK InTopKV2 Inv InvGrad IsFinite IsInf IsNan L2Loss LRN LRNGrad LeakyRelu
    LeakyReluGrad Less LessEqual Lgamma LinSpace Log Log1p LogSoftmax LogicalAnd LogicalNot
    LogicalOr MatMul Max MaxPool MaxPool3D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad
    MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradGradWithArgmax MaxPoolGradV2
    MaxPoolGradWithArgmax MaxPoolV2 MaxPoolWithArgmax Maximum Mean Min Minimum Mod Mul MulNoNan
    Neg NextAfter NotEqual NthElement Polygamma Pow Prod QuantizeDownAndShrinkRange QuantizedAdd
    QuantizedAvgPool QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConv2D
    QuantizedConv2DAndRelu QuantizedConv2DAndReluAndRequantize QuantizedConv2DAndRequantize
    QuantizedConv2DPerChannel QuantizedConv2DWithBias QuantizedConv2DWithBiasAndRelu
    QuantizedConv2DWithBiasAndReluAndRequantize QuantizedConv2DWithBiasAndRequantize
    QuantizedConv2DWithBiasSignedSumAndReluAndRequantize QuantizedConv2DWithBiasSumAndRelu
    QuantizedConv2DWithBiasSumAndReluAndRequantize QuantizedDepthwiseConv2D
    QuantizedDepthwiseConv2DWithBias QuantizedDepthwiseConv2DWithBiasAndRelu
    QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize QuantizedMatMul QuantizedMatMulWithBias
    QuantizedMatMulWithBiasAndRelu QuantizedMatMulWithBiasAndReluAndRequantize QuantizedMaxPool
    QuantizedMul QuantizedRelu QuantizedRelu6 QuantizedReluX Range Real RealDiv Reciprocal
    ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad RequantizationRange
    RequantizationRangePerChannel Requantize RequantizePerChannel Rint Round Rsqrt RsqrtGrad
    SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum Select SelectV2 Selu SeluGrad
    Sigmoid SigmoidGrad Sign Sin Sinh Softmax SoftmaxCrossEntropyWithLogits Softplus
    SoftplusGrad Softsign SoftsignGrad SparseMatMul SparseSegmentMean SparseSegmentMeanGrad
    SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNGrad
    SparseSegmentSqrtNWithNumSegments SparseSegmentSum SparseSegmentSumWithNumSegments
    SparseSoftmaxCrossEntropyWithLogits Sqrt SqrtGrad Square SquaredDifference Sub Sum Tan Tanh
    TanhGrad TopK TopKV2 TruncateDiv TruncateMod UnsortedSegmentMax UnsortedSegmentMin
    UnsortedSegmentProd UnsortedSegmentSum Xdivy Xlogy Zeta
"""
# Those without a function whose arguments go by position: Python or TensorFlow has the name.
_BY_NAME_ONLY = frozenset((
    "Abs", "All", "Any", "BatchNormWithGlobalNormalization", "ClipByValue", "Complex",
    "FusedBatchNorm", "HistogramFixedWidth", "Max", "Min", "Pow", "Range", "Sum",
))  # fmt: skip
# Those of `gen_array_ops`, by position only.
_OF_ARRAYS = ("Dequantize", "QuantizeV2", "QuantizedConcat")

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-CE-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def _by_position() -> dict[str, str]:
    """Return the operations by the names of their functions: `quantized_mat_mul`."""
    found = [name for name in _OPERATIONS.split() if name not in _BY_NAME_ONLY]
    return {_WORDS.sub("_", name).lower(): name for name in (*found, *_OF_ARRAYS)}


def lookup(name: str) -> Callable[..., Any]:
    """`tf.contrib.quantization.<name>`.

    Args:
      name: of an operation, whose arguments go by name, or of its function, `conv2d`.

    Raises:
      AttributeError: if there is none.
    """
    if name in _OPERATIONS.split():
        return raw_ops.lookup(name)
    operation = _by_position().get(name)
    found = None if operation is None else raw_ops.positional(operation)
    if found is None:
        message = f"module 'tensorflow.contrib.quantization' has no attribute {name!r}"
        raise AttributeError(message, name=name)
    return found


def names() -> list[str]:
    """All that it has."""
    return sorted((*_OPERATIONS.split(), *_by_position()))
