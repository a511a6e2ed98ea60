"""Values of arguments by name: the same name means the same all over TensorFlow.

Values are plain data. An argument that needs a graph is a `Made`: the name of its function in
`calls.py`, and that function's arguments.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Made(NamedTuple):
    """An argument that is made in the call's graph."""

    maker: str
    told: Any = None


def floats(*shape: int) -> Made:
    """Numbers between 0 and 1: they pass for probabilities as well."""
    return Made("floats", list(shape))


def integers(*shape: int) -> Made:
    """Numbers from 0 to 2: they pass for labels and positions."""
    return Made("integers", list(shape))


def truths(*shape: int) -> Made:
    """Booleans."""
    return Made("truths", list(shape))


_DTYPES = [Made("dtype", name) for name in ("float32", "int32", "float64")]
_BATCH = Made("placeholder", [None, 3])
_IMAGE = Made("image")
_LENGTHS = Made("numbers", [2, 1])
_MATRIX = Made("positive definite")
_PAIR = Made("pair of floats", [2, 3])
_RELU, _TANH = Made("public", "nn.relu"), Made("public", "nn.tanh")
_TEXTS = Made("texts")
_ONES = Made("called", ["ones_initializer"])
_GLOROT = Made("called", ["glorot_uniform_initializer", 3])
_L2 = Made("called", ["contrib.layers.l2_regularizer", 0.1])

#: Values by the names of the arguments that take them.
VALUES: dict[str, list[Any]] = {
    # layers
    "units": [1, 3, 0, -1],
    "num_units num_outputs filters": [1, 2, 3],
    "kernel_size": [1, 2, 3, [1, 2], [2, 2], [2, 2, 2], 0],
    "pool_size": [1, 2, [2, 2], [1, 2]],
    "ksize": [[1, 2, 2, 1], [1, 1, 1, 1], 2],
    "strides": [1, 2, [1, 1], [2, 1], [1, 2, 2, 1], [1, 1, 1, 1]],
    "stride": [1, 2, [1, 2]],
    "padding": ["same", "valid", "SAME", "VALID", "bad"],
    "data_format": ["channels_last", "NHWC", None, "channels_first"],
    "rate": [0.0, 0.5, 0.3],
    "keep_prob": [0.5, 1.0, 0.8],
    "momentum": [0.9, 0.5],
    "epsilon": [1e-3, 0.1],
    "scale": [True, False, 0.5, 2.0],
    "activation": [_RELU, None, _TANH],
    "activation_fn": [_RELU, None],
    "normalizer_fn": [None, Made("public", "contrib.layers.batch_norm")],
    "kernel_initializer initializer": [_ONES, _GLOROT],
    "weights_initializer": [_GLOROT],
    "kernel_regularizer weights_regularizer": [None, _L2],
    "dilation_rate": [1, 2, [1, 2]],
    "dilations rates": [[1, 1, 1, 1]],
    "depth_multiplier channel_multiplier rank p step base block_size": [1, 2],
    "begin_norm_axis": [1, -1],
    "reuse": [None, False],
    "cell": [Made("cell")],
    "num_layers batch_size nb": [2],
    "vocab_size vocabulary_size input_dim nbins": [5],
    "embed_dim output_dim": [2],
    "filter": [floats(2, 2, 3, 2), floats(1, 1, 3, 4)],
    # switches
    "keepdims keep_dims use_bias trainable training is_training center staircase cycle exclusive "
    "reverse transpose_a transpose_b adjoint_a align_corners preserve_aspect_ratio sorted "
    "merge_repeated unique validate_indices keepdim": [True, False],
    "fused": [True, False, None],
    "name": ["nm", None],
    "scope": ["sc", None],
    "seed": [1, 7],
    # shapes, axes and positions
    "axis": [0, 1, -1, None, [0], [0, 1], 2, -3],
    "dim": [0, -1, 1],
    "dims": [0, 1, [1, 0], [2, 3]],
    "axes": [[0], [0, 1], 1],
    "shape": [[2, 3], [3], [], [2, -1], [1, 2, 2]],
    "target_shape": [[3], [6], [-1]],
    "multiples": [[1, 2], [2], [2, 1, 1]],
    "perm": [[1, 0], [0, 1], [0, 2, 1], None],
    "paddings": [[[1, 0], [0, 1]], [[1, 1]], [[0, 0], [1, 1], [0, 0]]],
    "mode": ["CONSTANT", "REFLECT", "SYMMETRIC"],
    "begin": [[0, 0], [0], [1, 0]],
    "size": [[1, 1], [1], [2, 2], [4, 4], 3],
    "num_or_size_splits": [1, 2, 3, [1, 1]],
    "crops": [[[0, 0], [0, 0]]],
    "block_shape": [[2, 2]],
    "repeats": [2, [1, 2]],
    "indices": [integers(2), integers(2, 1), integers(2, 2)],
    "ids": [integers(3), integers(2, 2)],
    "segment_ids": [integers(3)],
    "num_segments": [3, 4],
    "sequence_length sequence_lengths lengths seq_lengths label_length": [_LENGTHS],
    "maxlen": [3, None],
    "start": [0, 1, 2.0],
    "limit": [5, 3.0],
    "stop": [4.0],
    # types and counts
    "dtype": _DTYPES,
    "out_type output_type": [Made("dtype", "int32"), Made("dtype", "int64")],
    "num_classes depth": [2, 3, 4],
    "k n num top_k": [1, 2, 3],
    "num_buckets": [3, 10],
    # tensors
    "inputs": [floats(2, 3), floats(2, 4, 4, 3), floats(2, 4, 3), floats(1, 3, 3, 3, 2), _PAIR],
    "x": [floats(2, 3), floats(3), floats(), floats(2, 2, 2), integers(2, 3), _BATCH],
    "y": [floats(2, 3), floats(3), floats(), floats(3, 2)],
    "a": [floats(2, 3), floats(2, 2)],
    "b": [floats(3, 2), floats(2, 2), floats(2, 3)],
    "tensor": [floats(2, 3), floats(4), integers(2, 2)],
    "input": [floats(2, 3), floats(2, 4, 4, 3), floats(2, 2)],
    "input_tensor": [floats(2, 3), floats(2, 2, 3), truths(2, 3)],
    "params": [floats(4, 2)],
    "condition mask": [truths(2, 3), truths(2)],
    "cond pred": [truths()],
    "data": [floats(3, 2), integers(3)],
    "value": [floats(2, 4, 4, 3), floats(2, 3), 2.0, [1.0, 2.0]],
    "values": [[0.1, 0.2, 0.3], _PAIR],
    "diagonal": [floats(3), floats(2, 2)],
    "matrix matrices": [_MATRIX],
    "rhs": [floats(3, 2)],
    "real imag": [floats(2)],
    # numbers
    "delta": [0.1, 0.3, -0.5],
    "factor": [0.5, 2.0],
    "lower": [0.1, 0.5],
    "upper": [0.9, 1.5],
    "min_value": [0.0, -1.0],
    "max_value": [1.0, 2.0],
    "clip_value_min": [-1.0, 0.0],
    "clip_value_max": [1.0, 0.5],
    "clip_norm": [1.0, 0.3],
    "alpha negative_slope slope": [0.1, 0.5],
    "beta threshold margin": [0.5],
    "bias": [1.0, floats(3)],
    "depth_radius": [1, 2],
    "stddev": [0.5, 1.0],
    "mean low": [0.0, 1.0],
    "minval": [0, -1.0],
    "maxval": [1.0, 5],
    "loc": [0.0, floats(3)],
    "concentration sigma": [1.0, 2.0],
    "probs": [0.3, [0.2, 0.8]],
    "total_count df": [3.0, 5.0],
    "high": [1.0, 3.0],
    "decay": [0.9, 0.5],
    "ord": [1, 2, "euclidean", "fro"],
    "on_value": [1.0, 2],
    "off_value": [0.0, -1],
    # training
    "learning_rate": [0.1, floats()],
    "global_step": [3, 0, 20],
    "decay_steps": [5, 10],
    "decay_rate": [0.5, 0.9],
    "end_learning_rate": [0.01],
    "power": [1.0, 2.0],
    "boundaries": [[1, 4]],
    # losses and metrics
    "labels": [integers(3), floats(2, 3), Made("one hot")],
    "targets": [floats(2, 3), integers(2)],
    "predictions": [floats(2, 3), integers(3), floats(3)],
    "logits": [floats(2, 3), floats(3), floats(3, 3)],
    "weights": [1.0, floats(2, 3), floats(2, 1), 0.5, 0.0, floats(3)],
    "reduction": ["weighted_sum", "none", "weighted_mean", "bad"],
    "label_smoothing": [0, 0.1],
    "thresholds": [[0.2, 0.5]],
    "num_thresholds": [5],
    "curve": ["ROC", "PR"],
    "true_classes": [Made("integers64", [2, 1])],
    "num_true": [1],
    "num_sampled": [3],
    "range_max": [6],
    # texts
    "string source string_tensor": [_TEXTS],
    "delimiter": [" ", ",", ""],
    "sep": [" ", "a"],
    "separator": ["-"],
    "pattern": ["a+", "[bc]"],
    "rewrite": ["X", r"\1"],
    "pos": [0, 1],
    "len": [1, 2],
    "equation": ["ij,jk->ik", "ij->ji"],
    "alignment": ["LEFT"],
    # images and signals
    "image": [_IMAGE, floats(4, 4, 3), floats(2, 4, 4, 3)],
    "images": [_IMAGE, floats(4, 4, 3), floats(2, 4, 4, 3), floats(2, 5, 5, 1)],
    "height width": [2, 4],
    "target_height target_width": [2, 5],
    "offset_height offset_width": [0, 1],
    "method": [0, 1, 2, 3, "bilinear"],
    "central_fraction": [0.5, 1.0, 0.3],
    "gamma": [0.5, 1.0, -1],
    "gain": [1.0, 2.0],
    "frame_length": [2, 4],
    "frame_step": [1, 2],
    "window_length": [4, 5],
    "fft_length": [None, 4],
    "value_range": [[0.0, 1.0]],
}

BY_NAME = {name: values for names, values in VALUES.items() for name in names.split()}

#: Passed now and then where a name says something else, and always where it says nothing.
ANYTHING: list[Any] = [
    floats(2, 3),
    floats(3),
    floats(),
    floats(2, 4, 4, 3),
    floats(2, 4, 3),
    integers(3),
    integers(2, 3),
    _BATCH,
    1.5,
    2,
    [1.0, 2.0],
    truths(2, 3),
    _TEXTS,
    Made("doubles", [2, 3]),
    Made("complex", [2, 3]),
    Made("integers64", [2, 3]),
    Made("variable", [2, 3]),
    Made("sparse", [2, 3]),
    Made("ragged"),
]
