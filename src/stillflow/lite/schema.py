"""Format of TensorFlow Lite models: schema version 3, as in TensorFlow 1.15."""

from __future__ import annotations

from stillflow.lite.flatbuffer import Schema, Table, read, write

IDENTIFIER = b"TFL3"
VERSION = 3


def _words(text: str) -> list[str]:
    return text.split()


# The numbers of the format's enumerations are the places in these lists.
OPERATORS = _words("""
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6
RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL
CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND
SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST
PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN
TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW
ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK
REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR
LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS
WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
""")
TENSOR_TYPES = _words("float32 float16 int32 uint8 int64 string bool int16 complex64 int8")
PADDINGS = ("SAME", "VALID")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
MIRROR_MODES = ("REFLECT", "SYMMETRIC")

_OPTIONS = _words("""
Conv2D DepthwiseConv2D ConcatEmbeddings LSHProjection Pool2D SVDF RNN FullyConnected Softmax
Concatenation Add L2Norm LocalResponseNormalization LSTM ResizeBilinear Call Reshape SkipGram
SpaceToDepth EmbeddingLookupSparse Mul Pad Gather BatchToSpaceND SpaceToBatchND Transpose Reducer
Sub Div Squeeze SequenceRNN StridedSlice Exp TopKV2 Split LogSoftmax Cast Dequantize
MaximumMinimum ArgMax Less Neg PadV2 Greater GreaterEqual LessEqual Select Slice TransposeConv
SparseToDense Tile ExpandDims Equal NotEqual Shape Pow ArgMin FakeQuant Pack LogicalOr OneHot
LogicalAnd LogicalNot Unpack FloorDiv Square ZerosLike Fill BidirectionalSequenceLSTM
BidirectionalSequenceRNN UnidirectionalSequenceLSTM FloorMod Range ResizeNearestNeighbor LeakyRelu
SquaredDifference MirrorPad Abs SplitV Unique ReverseV2 AddN GatherNd Cos Where Rank
ReverseSequence MatrixDiag Quantize MatrixSetDiag HardSwish If While DepthToSpace
""")

# Options that say something; the other operators' have no fields.
_OPTION_FIELDS = {
    "Conv2D": "padding byte, stride_w int, stride_h int, activation byte, "
    "dilation_w int = 1, dilation_h int = 1",
    "DepthwiseConv2D": "padding byte, stride_w int, stride_h int, depth_multiplier int, "
    "activation byte, dilation_w int = 1, dilation_h int = 1",
    "Pool2D": "padding byte, stride_w int, stride_h int, filter_w int, filter_h int, "
    "activation byte",
    "FullyConnected": "activation byte, weights_format byte, keep_num_dims bool",
    "Softmax": "beta float",
    "Concatenation": "axis int, activation byte",
    **dict.fromkeys(["Add", "Mul", "Sub", "Div", "L2Norm"], "activation byte"),
    "LocalResponseNormalization": "radius int, bias float, alpha float, beta float",
    "LSTM": "activation byte, cell_clip float, proj_clip float, kernel_type byte",
    "ResizeBilinear": "new_height int, new_width int, align_corners bool",
    "ResizeNearestNeighbor": "align_corners bool",
    "Reshape": "new_shape [int]",
    **dict.fromkeys(["SpaceToDepth", "DepthToSpace"], "block_size int"),
    "Gather": "axis int",
    "Reducer": "keep_dims bool",
    "Squeeze": "squeeze_dims [int]",
    **dict.fromkeys(["Split", "SplitV"], "num_splits int"),
    "StridedSlice": "begin_mask int, end_mask int, ellipsis_mask int, new_axis_mask int, "
    "shrink_axis_mask int",
    "Cast": "in_data_type byte, out_data_type byte",
    **dict.fromkeys(["ArgMax", "ArgMin"], "output_type byte"),
    "TransposeConv": "padding byte, stride_w int, stride_h int",
    "SparseToDense": "validate_indices bool",
    "Shape": "out_type byte",
    "FakeQuant": "min float, max float, num_bits int, narrow_range bool",
    "Pack": "values_count int, axis int",
    "OneHot": "axis int",
    "Unpack": "num int, axis int",
    "LeakyRelu": "alpha float",
    "MirrorPad": "mode byte",
    "Unique": "idx_out_type byte = 2",
    "ReverseSequence": "seq_dim int, batch_dim int",
}

_TABLES = """
Quantization: min [float], max [float], scale [float], zero_point [long], details |Details|, \
axis int
Tensor: shape [int], type byte, buffer uint, name string, quantization Quantization, \
is_variable bool
OperatorCode: builtin byte, custom string, version int = 1
Operator: opcode_index uint, inputs [int], outputs [int], options |Options|, \
custom_options [ubyte], custom_options_format byte, mutating_inputs [bool], intermediates [int]
SubGraph: tensors [Tensor], inputs [int], outputs [int], operators [Operator], name string
Buffer: data [ubyte]
Metadata: name string, buffer uint
Model: version uint, operator_codes [OperatorCode], subgraphs [SubGraph], description string, \
buffers [Buffer], metadata_buffer [int], metadata [Metadata]
"""

SCHEMA = Schema(
    _TABLES + "\n".join(f"{name}: {_OPTION_FIELDS.get(name, '')}" for name in _OPTIONS),
    {"Options": _OPTIONS, "Details": []},
)


def table(kind: str, **fields: object) -> Table:
    """Return a table of the format: `table("Tensor", name="x", shape=[1])`."""
    return Table(SCHEMA, kind, **fields)


def read_model(data: bytes) -> Table:
    """Return the model in the bytes of a file; ValueError if they are none, or damaged."""
    found = bytes(data[4:8])
    if found != IDENTIFIER:
        raise ValueError(
            f"Model provided has model identifier '{found.decode('latin-1')}', should be "
            f"'{IDENTIFIER.decode()}'\n"
        )
    return read(SCHEMA, "Model", data)


def write_model(model: Table) -> bytes:
    """Return a model as the bytes of a file."""
    return write(SCHEMA, model, IDENTIFIER)
