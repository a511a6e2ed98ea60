"""On which kinds of devices an operation can run."""

from __future__ import annotations

from functools import cache

from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Operation
from stillflow.runtime.devices import are_of_apple

_BOTH, _CPU, _NONE = frozenset(("GPU", "CPU")), frozenset(("CPU",)), frozenset[str]()
_HANDLES = frozenset(("resource", "variant"))
# Handles of variables stand for tensors; all other resources (queues, tables, ...) are of the host.
# So do lists of tensors, which can be added and handed on.
_OF_VARIABLES = frozenset((
    "AddN", "ZerosLike", "VarHandleOp", "ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp",
    "AssignSubVariableOp", "VarIsInitializedOp", "VariableShape", "DestroyResourceOp",
    "ResourceGather", "ResourceGatherNd", "Identity", "Switch", "Merge", "Enter", "Exit",
    "NextIteration",
))  # fmt: skip
# Of variables too, or of arrays and stacks of tensors, which stay where they were made.
_PREFIXES = ("ResourceApply", "ResourceSparseApply", "ResourceScatter", "ResourceStridedSlice",
             "TensorArray", "TensorList", "EmptyTensorList", "Stack")  # fmt: skip
# Kernels that compute with NumPy or Python on the host.
_ON_HOST = frozenset(("Print", "PrintV2", "PyFunc", "PyFuncStateless", "Timestamp"))
# Those that may stand on a GPU as well, where they read what they are given.
_ON_HOST_OF_BOTH = frozenset(("Assert", "EagerPyFunc", "Unique"))
# Types that hardly any of torch's kernels for GPUs take, nor do TensorFlow's.
_OF_HOST = frozenset(("uint16", "uint32", "uint64"))
# Sums of segments of whole numbers have no kernels there.
_SEGMENTS = ("Segment", "SparseSegment", "UnsortedSegment")
_FLOATS = frozenset(("bfloat16", "float16", "float32", "float64"))
_FRACTIONS = _FLOATS | {"complex64", "complex128"}
# Handles of other things than variables that may stand on a GPU, but only do if they are told to.
_CPU_FIRST = frozenset((
    "AnonymousIterator", "AnonymousIteratorV2", "ConsumeMutexLock", "DeleteIterator",
    "ExperimentalMapDataset", "GeneratorDataset", "IteratorGetNext", "IteratorGetNextAsOptional",
    "IteratorFromStringHandleV2", "IteratorGetNextSync", "IteratorToStringHandle", "IteratorV2",
    "MakeIterator", "MutexLock", "MutexV2",
    "OptionalFromValue", "OptionalGetValue", "OptionalHasValue", "OptionalNone", "PrefetchDataset",
    "QueueCloseV2", "QueueDequeueV2", "QueueEnqueueV2", "QueueIsClosedV2", "QueueSizeV2",
    "UnwrapDatasetVariant", "WrapDatasetVariant",
))  # fmt: skip
# TensorFlow has these on the CPU alone, and here too they read what they are given element by
# element, or what they find says how large other tensors are.
_READING = frozenset((
    "AllCandidateSampler", "AudioMicrofrontend", "AudioSpectrogram", "CTCBeamSearchDecoder",
    "CTCGreedyDecoder", "CTCLoss", "CombinedNonMaxSuppression", "ComputeAccidentalHits",
    "DenseToDenseSetOperation", "DenseToSparseSetOperation", "Dequantize", "DrawBoundingBoxes",
    "DrawBoundingBoxesV2", "EditDistance", "ExtractGlimpse", "FixedUnigramCandidateSampler",
    "FractionalAvgPool", "FractionalAvgPoolGrad", "FractionalMaxPool", "FractionalMaxPoolGrad",
    "KMC2ChainInitialization", "KmeansPlusPlusInitialization", "LearnedUnigramCandidateSampler",
    "ListDiff", "LogUniformCandidateSampler", "Mfcc", "NonMaxSuppression", "NonMaxSuppressionV4",
    "NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps", "QuantizeDownAndShrinkRange",
    "QuantizeV2", "RandomGamma", "RandomPoisson", "RandomPoissonV2", "RequantizationRange",
    "Requantize", "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "ScaleAndTranslate",
    "ScaleAndTranslateGrad", "SetSize", "SingleImageRandomDotStereograms", "SparseAdd",
    "SparseAddGrad", "SparseConcat", "SparseCross", "SparseDenseCwiseAdd", "SparseDenseCwiseDiv",
    "SparseDenseCwiseMul", "SparseFillEmptyRows", "SparseFillEmptyRowsGrad", "SparseReduceMax",
    "SparseReduceMaxSparse", "SparseReduceSum", "SparseReduceSumSparse", "SparseReorder",
    "SparseReshape", "SparseSlice", "SparseSliceGrad", "SparseSoftmax", "SparseSparseMaximum",
    "SparseSparseMinimum", "SparseSplit", "SparseTensorDenseAdd", "SparseToSparseSetOperation",
    "TakeManySparseFromTensorsMap", "ThreadUnsafeUnigramCandidateSampler",
    "UniformCandidateSampler", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "UnravelIndex",
))  # fmt: skip
# What CUDA's libraries do with floating point numbers only.
_OF_FLOATS = (
    "AvgPool", "BatchMatMul", "Conv2D", "Conv3D", "CropAndResize", "DepthwiseConv2d", "Dilation2D",
    "ExtractImagePatches", "ExtractVolumePatches", "MatMul", "MaxPool", "MirrorPad",
    "ResizeBilinear", "SparseTensorDenseMatMul",
)  # fmt: skip
# What Metal has no arithmetic of, and complex numbers, of which PyTorch has few kernels there.
_NOT_OF_APPLE = frozenset(("complex128", "complex64", "float64"))
# Attributes that say what a variable or an array holds.
_TYPES_HELD = ("dtype", "element_dtype")
# Several elements of one place are added there by atomic operations, which int64 has none of.
_SUMS_BY_INDEX = ("ResourceScatter", "Scatter", "TensorScatter")
_DECOMPOSITIONS = frozenset((
    "BatchMatrixSolveLs", "Cholesky", "CholeskyGrad", "LogMatrixDeterminant", "Lu",
    "MatrixDeterminant", "MatrixExponential", "MatrixInverse", "MatrixLogarithm", "MatrixSolve",
    "MatrixSolveLs",
    "MatrixSquareRoot", "MatrixTriangularSolve", "Qr", "SelfAdjointEigV2", "Svd",
))  # fmt: skip
_VARIABLES = frozenset(("VarHandleOp", "Variable", "VariableV2"))
# TensorFlow keeps variables of other types on the CPU, where what they count and index is asked.
_OF_DEVICES = frozenset((
    "bfloat16", "complex128", "complex64", "float16", "float32", "float64", "int64",
))  # fmt: skip
_PREFIXES_OF_HOST = ("BoostedTrees", "Quantized", "Ragged", "Sdca")
# Arguments that kernels read as plain numbers: shapes, axes, counts.
_NUMBERS = frozenset((
    "a_shape", "algorithm", "axis", "begin", "block_shape", "concat_dim", "crop_size", "crops",
    "delta", "depth", "dim", "dimension", "dims", "element_shape", "end", "fft_length",
    "filter_sizes", "image_size", "index", "input_shape", "input_size", "input_sizes", "k", "ksize",
    "limit", "max_num_elements", "max_output_size", "maxval", "minval", "multiples", "n", "nbins",
    "num", "num_bits", "num_cols", "num_elements", "num_layers", "num_lower", "num_rows",
    "num_samples", "num_segments", "num_units", "num_upper", "orig_input_shape", "output_dim0",
    "output_shape", "paddings", "perm", "reduction_indices", "s0", "s1", "seed", "seed2",
    "seq_len_max", "shape", "shape_to_prepend", "shift", "size", "size_splits", "split_dim",
    "start", "strides",
))  # fmt: skip
# Of arrays and lists of tensors all integers: where elements stand, how many there are.
OF_ARRAYS = ("TensorArray", "TensorList", "EmptyTensorList", "Stack")
_INTEGERS = frozenset(("int32", "int64"))


# Indices are checked on the host, where most of them come from; nothing has to wait for a device.
_UPDATES = ("Apply", "ResourceApply", "ResourceSparseApply", "SparseApply")
_CHECKING = ("ResourceScatter", "Scatter", "Segment", "SparseSegment", *_UPDATES)
_CHECKED = frozenset(("indices", "segment_ids"))


def reads_anywhere(op: Operation, position: int) -> bool:
    """Whether an input is a rate of an optimizer, which is taken from wherever it is."""
    if not op.type.startswith(_UPDATES):
        return False
    return op.card.signature.inputs[position].name not in ("delta", "grad", "indices")


def reads_number(op: Operation, position: int) -> bool:
    """Whether an input says how to compute, so that the kernel reads it on the host."""
    if op._inputs[position].dtype.name not in _INTEGERS:
        return False
    return op.type.startswith(OF_ARRAYS) or position in _number_positions(op)


def _number_positions(op: Operation) -> frozenset[int]:
    found, position = [], 0
    for argument in op.card.signature.inputs:
        if argument.number_attr is not None:
            position += op.attrs[argument.number_attr]
        elif argument.type_list_attr is not None:
            position += len(op.attrs[argument.type_list_attr])
        else:
            checked = argument.name in _CHECKED and op.type.startswith(_CHECKING)
            if checked or argument.name in _NUMBERS:
                found.append(position)
            position += 1
    return frozenset(found)


def kinds_of(op: Operation) -> frozenset[str]:
    """The types of devices that have a kernel for an operation."""
    if op.type in _ON_HOST or op.type in _READING or op.type.startswith(_PREFIXES_OF_HOST):
        return _CPU
    if op.card.elsewhere:
        return _NONE
    if op.type in _VARIABLES and op.attrs["dtype"].base_dtype.name not in _OF_DEVICES:
        return _CPU
    names = tuple(tensor.dtype.base_dtype.name for tensor in (*op._inputs, *op._outputs))
    kinds = _kinds(op.type, names)
    return kinds & _CPU if are_of_apple() and limit_of_apple(op) else kinds


def limit_of_apple(op: Operation) -> str:
    """Return why Apple's GPUs cannot run an operation; empty if they can."""
    held = (op.attrs[name] for name in _TYPES_HELD if name in op.attrs)
    dtypes = [*(tensor.dtype for tensor in (*op._inputs, *op._outputs)), *held]
    names = [dtype.base_dtype.name for dtype in dtypes if isinstance(dtype, DType)]
    return _limit_of_apple(op.type, tuple(dict.fromkeys(names)))


@cache
def _limit_of_apple(op_type: str, dtypes: tuple[str, ...]) -> str:
    for name in dtypes:
        if name in _NOT_OF_APPLE:
            return f"Apple's GPUs have no {name}"
    if op_type.startswith(_SUMS_BY_INDEX) and "int64" in dtypes and _FLOATS.isdisjoint(dtypes):
        return f"Apple's GPUs do not add int64 by index, as {op_type} does"
    if op_type in _DECOMPOSITIONS:
        return f"PyTorch has no {op_type} for Apple's GPUs"
    return ""


def prefers_cpu(op: Operation) -> bool:
    """Whether an operation that can run on a GPU does so only where its device says it."""
    if op.type in _VARIABLES:  # global steps, which programs ask for
        return op.attrs["dtype"].base_dtype.name == "int64" and op.attrs["shape"].rank == 0
    return op.type in _CPU_FIRST


def computes_on_host(op: Operation) -> bool:
    """Whether an operation reads what it is given, whichever device it stands on."""
    return op.type in _ON_HOST_OF_BOTH


@cache
def _kinds(op_type: str, dtypes: tuple[str, ...]) -> frozenset[str]:
    if op_type in _CPU_FIRST:
        return _BOTH
    if "string" in dtypes:
        return _CPU
    if not _OF_HOST.isdisjoint(dtypes):
        return _CPU
    if op_type.startswith(_SEGMENTS) and dtypes[0] not in _FLOATS:
        return _CPU
    if op_type.startswith(_OF_FLOATS) and _FRACTIONS.isdisjoint(dtypes):
        return _CPU
    if not _HANDLES.isdisjoint(dtypes):
        stands = op_type in _OF_VARIABLES or op_type.startswith(_PREFIXES)
        return _BOTH if stands else _CPU
    return _BOTH
