"""More to pass for arguments by their names: what a valid call of rarer functions asks for.

`arguments.py` holds what many functions take, and describes the form of the values.
"""

from __future__ import annotations

import re
from typing import Any

from .arguments import BY_NAME as COMMON
from .arguments import Made, floats, integers, truths


def several(*made: Any) -> Made:
    """Return a list of arguments."""
    return Made("list", list(made))


def function(name: str) -> Made:
    """One of `calls.FUNCTIONS`."""
    return Made("function", name)


def column(name: str, *arguments: Any) -> Made:
    """Return a column of tf.feature_column, or of another module that makes columns."""
    return Made("called", [name if "." in name else f"feature_column.{name}", *arguments])


_WORDS = ["a", "b", "c"]
_NUMBER = column("numeric_column", "n")
_CATEGORY = column("categorical_column_with_vocabulary_list", "c", _WORDS)
_IDS = column("categorical_column_with_identity", "i", 3)
_SHOWN = column("indicator_column", _IDS)
_OLD_IDS = column("contrib.layers.sparse_column_with_integerized_feature", "i", 3)
_OLD_NUMBER = column("contrib.layers.real_valued_column", "n")
_FEATURES = Made("features")
_SPARSE, _SPARSE_IDS = Made("sparse", [2, 3]), Made("sparse ids", [2, 3])
_LSTM = Made("cell")
_SEQUENCE = several(floats(2, 3), floats(2, 3))
_TOKENS = several(integers(2), integers(2))
_BOX = Made("boxes")
_LABELED = Made("labeled", [["x", 2], ["y", 3]])
_LABELED_ROW = Made("labeled", [["y", 3]])
_DISTRIBUTION = Made("called", ["distributions.Normal", 0.5, 2.0])

#: Values by the names of the arguments that take them.
VALUES: dict[str, list[Any]] = {
    # keras
    "y_pred output": [floats(2, 3), floats(3), floats(2, 2, 3)],
    "y_true target": [floats(2, 3), integers(2), Made("one hot"), floats(3), integers(3, 1)],
    "kernel": [floats(2, 3, 2), floats(2, 2, 3, 2), floats(2, 2, 2, 3, 2)],
    "depthwise_kernel depthwise_filter": [floats(2, 2, 3, 1), floats(2, 2, 3, 2)],
    "pointwise_kernel pointwise_filter": [floats(1, 1, 3, 2), floats(1, 1, 6, 2)],
    "identifier": ["relu", "mse", "l2", "zeros", "max_norm", "softmax", "binary_accuracy", None],
    "config": ["zeros", "relu", "mse", {"class_name": "L1L2", "config": {"l1": 0.1, "l2": 0.0}},
               {"class_name": "MaxNorm", "config": {"max_value": 2.0, "axis": 0}},
               {"class_name": "Dense", "config": {"units": 2}}],
    "constraint": [Made("called", ["keras.constraints.MaxNorm", 2.0])],
    "regularizer": [Made("called", ["keras.regularizers.l2", 0.1])],
    "layer instance": [Made("called", ["keras.layers.Dense", 2])],
    "metric": [Made("public", "keras.metrics.mse")],
    "alt then_expression else_expression": [floats(2, 3), function("constant")],
    "height_factor width_factor depth_factor": [1, 2],
    "reduction_axes": [[0], [0, 1]],
    "level": [0.5, 0.2],
    "pattern": ["a+", "[bc]", [1, 0], [0, 2, 1]],
    "step_function": [function("step")],
    "initial_states": [several(floats(2, 3))],
    "reference": [floats(4, 2)],
    # variables and updates
    "ref variable var": [Made("variable", [4, 2]), Made("variable", [3]), Made("variable", []),
                         Made("int variable", [])],
    "updates": [floats(2, 2), floats(2), floats(2, 4, 2), integers(2)],
    "new_x increment decrement": [floats(4, 2), floats(3), floats()],
    "mean_var variance_var log_mean_exp_var": [Made("variable", [3])],
    "log_value": [floats(3)],
    "variables xs": [several(Made("variable", [3])), Made("variable", [2, 3])],
    "var_list": [several(Made("variable", [3]), Made("variable", []))],
    "initial_value": [floats(2, 3), 1.0, floats()],
    "ys": [floats(), floats(2, 3), Made("depends", [3])],
    "loss losses": [floats(), Made("depends", [3])],
    "grads_and_vars gradients_to_variables gradients_variables": [Made("gradients", [3])],
    "max_norm": [1.0, 0.1],
    "optimizer": ["SGD", "Adam"],
    # sparse and ragged
    "sp_input sp_a sp_b st": [_SPARSE, _SPARSE, _SPARSE_IDS, Made("sparse texts")],
    "sp_ids sparse_ids": [_SPARSE_IDS],
    "sp_values sparse_values": [_SPARSE, floats(2), integers(2)],
    "sp_weights": [None, _SPARSE],
    "sp_inputs": [several(_SPARSE, Made("sparse", [2, 3])), several(_SPARSE, _SPARSE)],
    "to_retain": [[True, False], Made("truths", [2])],
    "mask_indices": [[0], [1]],
    "sparse_indices": [[0, 1], [[0, 1], [1, 0]], 1],
    "default_value": [0.0, 1.0, 0, ""],
    "embedding_weights": [floats(5, 2), several(floats(5, 2))],
    "pylist": [[[1, 2], [3]], [[1.5], []], [["a"], ["b", "c"]], [[[1], []], [[2, 3]]]],
    "ragged_rank": [1, 2],
    "starts": [0, [0, 1]],
    "splits": [[0, 2, 3], [0, 0, 4]],
    "rt_input": [Made("ragged")],
    "op": [Made("public", "square"), Made("public", "negative")],
    "serialized_sparse": [Made("serialized sparse")],
    # columns
    "key column_name": ["n", "c", "i"],
    "feature_columns": [several(_NUMBER), several(_NUMBER, _SHOWN), several(_OLD_NUMBER)],
    "features columns_to_tensors": [_FEATURES, floats(2, 3), floats(2, 4, 4, 3)],
    "categorical_column": [_CATEGORY, _IDS],
    "categorical_columns": [several(_CATEGORY, column(
        "categorical_column_with_vocabulary_list", "d", _WORDS))],
    "source_column": [_NUMBER, _OLD_NUMBER],
    "sparse_id_column": [_OLD_IDS],
    "sparse_id_columns": [several(_OLD_IDS)],
    "columns": [several(_OLD_IDS, column("contrib.layers.sparse_column_with_keys", "c", _WORDS))],
    "weight_feature_key weight_column_name": ["n"],
    "vocabulary_list": [_WORDS, [1, 2]],
    "keys": [_WORDS, ["c", "i"]],
    "hash_bucket_size bucket_size": [3, 10],
    "dimension": [0, 1, 2],
    # sequences
    "decoder_inputs encoder_inputs": [_SEQUENCE, _TOKENS],
    "cell_fw cell_bw enc_cell": [_LSTM, Made("called", ["nn.rnn_cell.GRUCell", 3])],
    "cells_fw cells_bw": [several(_LSTM)],
    "initial_state": [Made("state", 2)],
    "attention_states": [floats(2, 3, 2)],
    "embedding_size": [2],
    "num_symbols num_encoder_symbols num_decoder_symbols": [4],
    "num_output_units": [2],
    "transition_params": [floats(3, 3)],
    "potentials": [floats(2, 4, 3)],
    "score": [[[0.1, 0.7, 0.2], [0.3, 0.2, 0.5]]],
    "tag_indices": [integers(2, 4)],
    "tag_bitmap": [truths(2, 4, 3)],
    "step_ids parent_ids": [integers(3, 2, 2)],
    "max_sequence_lengths": [[2, 3]],
    "end_token": [2],
    "p_choose_i previous_attention": [floats(2, 3)],
    "multiplier": [2],
    "sparsemax": [floats(2, 3)],
    "input_length label_lengths logit_length": [Made("numbers", [2, 1]), [[2], [1]]],
    # functions
    "fn loop_fn": [function("add"), function("double"), Made("public", "square")],
    "elementwise_function": [Made("public", "negative"), Made("public", "add")],
    "reduce_fn": [Made("public", "reduce_sum")],
    "f g": [function("double"), Made("public", "square"), Made("public", "nn.relu")],
    "func": [function("derivative"), function("double")],
    "func_": [function("constant")],
    "name_": ["made"],
    "y0": [floats(2)],
    "elems": [floats(3, 2), integers(3), floats(4)],
    "branch_fns": [several(function("constant"), function("other constant"))],
    "branch_index": [0, 1, integers()],
    "true_fn false_fn": [function("constant"), function("other constant")],
    "pred_fn_pairs": [several(several(truths(), function("constant")))],
    # labeled tensors
    "labeled_tensor labeled_tensor_0 labeled_tensor_1": [_LABELED, _LABELED, _LABELED_ROW],
    "labeled_tensors": [several(_LABELED, _LABELED)],
    "axis_name existing_name": ["x", "y"],
    "new_name": ["z", "batch"],
    "new_axis": ["z"],
    "axis_order": [["x", "y"], ["y", "x"]],
    "existing_axes": [["x", "y"], ["y"]],
    "new_axes": [["z"], [["z", 6]]],
    "selection": [{"x": 0}, {"y": 1}, {"y": slice(0, 2)}],
    "shape_map": [{"x": 1}, {"y": 2}],
    "axis_data": [["x", 2], "x"],
    # graph editor
    "ops seed_ops forward_seed_ops": [Made("operations"), Made("graph")],
    "ts": [Made("list", [floats(2), floats(2)]), Made("graph")],
    "ts0 ts1": [several(floats(2)), several(floats(2))],
    "sgv sgv0 sgv1": [Made("view", 0), Made("view", 1)],
    "graph": [Made("graph")],
    "regex": ["Const", ".*"],
    "obj": ["a.*", "b"],
    "positive_filter": [function("true")],
    # images
    "contents": [Made("encoded", "png"), Made("encoded", "jpeg")],
    "crop_window": [[0, 0, 2, 2], [1, 1, 3, 2]],
    "boxes": [_BOX, Made("boxes of images")],
    "box_indices box_ind": [[0, 1, 0]],
    "crop_size": [[2, 2], [3, 1]],
    "scores": [floats(3), floats(3, 3)],
    "overlaps": [floats(3, 3)],
    "max_output_size max_output_size_per_class max_total_size": [2, 3],
    "bounding_boxes": [Made("boxes of images")],
    "image_size": [[5, 4, 3]],
    "offsets": [[[0.0, 0.0], [0.5, -0.5]]],
    "sizes ksizes": [[1, 2, 2, 1], [1, 2, 2, 2, 1]],
    "max_val": [1.0, 255],
    "img1 img2": [floats(1, 12, 12, 3), floats(12, 12, 1)],
    "max_delta": [0.1, 0.4],
    "contrast_factor saturation_factor": [0.5, 2.0],
    "jpeg_quality max_jpeg_quality": [80, 95],
    "min_jpeg_quality": [50, 60],
    "angles": [0.5, [0.1, -0.2]],
    "translations": [[1.0, -1.0], [[1.0, 0.0], [0.0, 2.0]]],
    "transforms": [[1.0, 0.1, 0.5, 0.0, 1.0, -0.5, 0.0, 0.0]],
    "transform_matrices": [[[[1.0, 0.1, 0.5], [0.0, 1.0, -0.5], [0.0, 0.0, 1.0]]]],
    "image_height image_width": [4.0],
    "flow": [floats(2, 4, 4, 2)],
    "train_points query_points": [floats(1, 4, 2), floats(1, 3, 2)],
    "train_values": [floats(1, 4, 2)],
    "source_control_point_locations dest_control_point_locations": [floats(1, 3, 2)],
    "order": [1, 2, 3],
    "distance_mat": [floats(3, 3)],
    "num_valid_rows": [3, 2],
    "warp": [floats(2, 3, 2)],
    "depth_values": [floats(8, 8)],
    # convolutions
    "output_shape": [[2, 4, 4, 2], [2, 5, 5, 3], [2, 4, 3], [2, 8, 8, 3]],
    "filter_sizes": [[2, 2, 3, 2], [1, 1, 3, 1], [2, 2, 2, 3, 2]],
    "input_sizes": [[2, 4, 4, 3], [1, 4, 4, 3]],
    "out_backprop": [floats(2, 4, 4, 2), floats(2, 4, 4, 3), floats(2, 2, 2, 2)],
    "window_shape": [[2, 2], [2]],
    "pooling_type": ["MAX", "AVG"],
    "pooling_ratio": [[1.0, 1.5, 1.5, 1.0]],
    "variance": [floats(3), 1.5],
    "offset": [floats(3), None],
    "scale": [floats(3), True, 0.5],
    "variance_epsilon": [1e-3],
    "counts": [floats(), 3.0],
    "mean_ss variance_ss": [floats(3)],
    "shift": [None, 1, [1]],
    "biases": [floats(2), floats(4), floats(6)],
    # quantization
    "min min_range input_min input_mins min_input min_filter min_features": [-1.0, 0.0],
    "max max_range input_max input_maxes max_input max_filter max_features": [1.0, 2.0],
    "gradients": [floats(2, 3), floats(3)],
    "T": [Made("dtype", "quint8"), Made("dtype", "qint8")],
    # math
    "t": [floats(2, 3), floats(4)],
    "t_list tensors": [several(floats(2, 3), floats(2, 3)), several(floats(3), floats(2, 2))],
    "q": [50.0, 2.0, floats(2, 3)],
    "x1 x2": [floats(2, 3), floats(2, 4)],
    "scalar": [2.0, 3],
    "coeffs": [several(floats(), floats()), [1.0, 2.0]],
    "arr": [integers(4)],
    "chol": [Made("triangular")],
    "diagonals": [floats(3, 4), floats(2, 3, 4)],
    "num_lower num_upper": [0, 1, -1],
    "num_rows": [2, 3],
    "num_columns": [2, 4],
    "sorted_sequence": [[[1, 3, 5], [2, 4, 6]], [1, 3, 5]],
    "hypothesis truth": [Made("sparse ids", [2, 3])],
    "partitions": [[0, 1, 0], [1, 0]],
    "num_partitions": [2],
    "num_samples": [2],
    "logx": [floats(2, 3)],
    "lam": [2.0, [1.0, 3.0]],
    "objective_vector": [[0.3, 0.1, 0.2]],
    "constraints_matrix": [[[0.1, -0.2, 0.3], [0.0, 0.1, -0.1]]],
    "distribution_a distribution_b": [_DISTRIBUTION],
    "type": [Made("dtype", "int32")],
    "type_value": ["float32", 3],
    "tf_type": [Made("dtype", "float32"), Made("dtype", "int32")],
    "ranks": [[1, 2]],
    "message": ["told"],
    "shape_x shape_y": [[2, 1], [1, 3], [3]],
    "input_shape": [[4, 4], [3]],
    "expected_tensor": [floats(2, 3)],
    "expected_shape": [[2, 3]],
    "input_": [floats(2, 3), floats(4, 2)],
    "end": [[2, 2], [1, 2]],
    "shapes": [{}],
    "sampled_candidates": [Made("integers64", [3])],
    "per_example_loss": [floats(3)],
    "regularization_loss": [floats(2)],
    "frequency_weights": [floats(2, 1), 1.0],
    "log_input": [floats(2, 3)],
    # losses and metrics
    "onehot_labels multi_class_labels": [floats(2, 3), Made("one hot")],
    "predictions_idx top_k_predictions": [Made("integers64", [2, 2])],
    "labels": [integers(3), floats(2, 3), Made("one hot"), Made("integers64", [2, 1]), truths(3),
               integers(2)],
    "normalizer": [floats(2, 3)],
    "specificity sensitivity target_recall precision": [0.5, 0.7],
    "boolean_labels": [truths(3)],
    "score_range": [[0.0, 1.0]],
    "names_to_tuples": [{}],
    # signals
    "signal signals": [floats(12), floats(2, 12), floats(2, 3, 4)],
    "stfts": [Made("complex", [2, 3, 3]), Made("complex", [3, 3])],
    "log_mel_spectrograms": [floats(3, 8)],
    "sample_rate": [8000.0],
    # texts and records
    "input_encoding output_encoding": ["UTF-8", "UTF-16-BE"],
    "errors": ["replace", "ignore"],
    "records": [["1,2.5", "3,4.5"], "1,x"],
    "record_defaults": [[[0], [0.0]], [[0], [""]]],
    "ngram_width": [1, 2, [1, 2]],
    "template": ["a {} b", "{} {}"],
    "serialized": [Made("examples")],
    "bytes": [["ab", "c"]],
    # learning rates and the rest
    "first_decay_steps": [5],
    "num_shards": [2],
    "max_shard_bytes": [16, 64],
    "slicing": [[1, 2], [2, 1]],
    "op_seed": [3, None],
    "date": ["2020-01-01", None],
    "instructions": ["do"],
    "given_name suffix": ["v", "kernel"],
    "import_scope export_scope": ["sc", None],
    "n_classes": [2, 3],
    "control_inputs": [several(floats(2))],
    "target_probs": [[0.3, 0.3, 0.4]],
    "embedding_dimension": [2],
}  # fmt: skip

BY_NAME = {name: list(values) for name, values in COMMON.items()}
for _names, _values in VALUES.items():
    for _name in _names.split():
        BY_NAME.setdefault(_name, []).extend(_values)

_TEXT = Made("texts")
_IMAGES, _COMPLEX = floats(2, 4, 4, 3), Made("complex", [2, 4])
_STRIDES = [[1, 1, 1, 1], [1, 2, 2, 1]]
_SEGMENTS = {"segment_ids": [[0, 0, 1]], "indices": [[0, 1, 2]], "data": [floats(3, 2), floats(4)]}
_FIRST = {"labels": [Made("integers64", [2, 1])], "predictions": [floats(2, 4)]}

#: What some functions take instead of what the names of their arguments say elsewhere.
BY_FUNCTION: list[tuple[str, dict[str, list[Any]]]] = [
    (r"(^|\.)(strings?[._]|substr|reduce_join|regex_|decode_raw|encode_base64)",
     {"input": [_TEXT], "inputs": [_TEXT, several(_TEXT, _TEXT)], "bytes": [_TEXT],
      "input_bytes": [_TEXT], "data": [_TEXT], "pattern": ["a+"], "axis": [0], "key": [[1, 2]]}),
    (r"unicode_encode", {"input": [[97, 98], [[97], [8364]]]}),
    (r"(^|\.)i?fft[23]?d?$|irfft", {"input": [_COMPLEX, Made("complex", [2, 2, 4])],
                                    "input_tensor": [_COMPLEX, Made("complex", [2, 2, 4])]}),
    (r"rfft", {"input_tensor": [floats(2, 4), floats(2, 2, 4)]}),
    (r"segment_(sum|mean|min|max|prod|sqrt_n)$", _SEGMENTS),
    (r"at_k$|at_top_k$|in_top_k|top_k_cat", _FIRST),
    (r"depthwise|separable", {
        "input": [_IMAGES], "filter": [floats(2, 2, 3, 1), floats(1, 1, 3, 2)],
        "strides": _STRIDES, "padding": ["SAME", "VALID"]}),
    (r"conv3d|pool3d", {
        "input": [floats(1, 4, 4, 4, 3)], "filter": [floats(2, 2, 2, 3, 2)],
        "strides": [[1, 1, 1, 1, 1], [1, 2, 2, 2, 1]], "ksize": [[1, 2, 2, 2, 1]],
        "x": [floats(1, 4, 4, 4, 3)], "padding": ["SAME", "VALID", "same"],
        "output_shape": [[1, 4, 4, 4, 2]]}),
    (r"conv1d|pool1d", {
        "value": [floats(2, 4, 3)], "filters": [floats(2, 3, 2)], "input": [floats(2, 4, 3)],
        "stride": [1, 2], "ksize": [2, 1], "strides": [1, 2], "x": [floats(2, 4, 3)],
        "padding": ["SAME", "VALID", "same"], "filter": [floats(2, 2, 3)],
        "output_shape": [[2, 8, 2]]}),
    (r"conv|pool|lrn|local_resp|space_to|to_space|dilation2d|erosion2d|quantized", {
        "input": [_IMAGES], "inputs": [_IMAGES], "value": [_IMAGES], "x": [_IMAGES],
        "strides": [*_STRIDES, 1, 2], "ksize": [[1, 2, 2, 1], 2],
        "padding": ["SAME", "VALID", "same"],
        "filters": [floats(2, 2, 3, 2), 2], "kernel": [floats(2, 2, 3), floats(2, 2, 3, 2)],
        "filter": [floats(2, 2, 3, 2), floats(1, 1, 3, 4)],
                "rates": [[1, 1, 1, 1]], "rate": [1, 2], "block_size": [2], "dilations": [None]}),
    (r"image\.|image_", {"images": [_IMAGES, floats(4, 4, 3)], "size": [[2, 2], [4, 3]],
                        "boxes": [Made("boxes"), Made("boxes of images")], "axis": [0]}),
    (r"(^|\.)image\.(ssim|psnr)|total_variation|extract_|sobel|gradients", {
        "img1": [floats(1, 12, 12, 3)], "img2": [floats(1, 12, 12, 3)], "a": [_IMAGES],
        "b": [_IMAGES], "image": [_IMAGES], "images": [_IMAGES]}),
    (r"rnn|decoder", {"cell": [_LSTM], "dtype": [Made("dtype", "float32")], "sequence_length":
                      [None, [2, 1]], "initial_state": [None], "inputs": [
                          floats(2, 3, 2), several(floats(2, 3), floats(2, 3))]}),
    (r"bitwise|invert$", {"x": [integers(3)], "y": [integers(3)]}),
    (r"logical_|reduce_a(ll|ny)", {"x": [truths(3)], "y": [truths(3)],
                                   "input_tensor": [truths(2, 3)]}),
    (r"scatter", {"ref": [Made("variable", [4, 2])], "tensor": [floats(4, 2)],
                  "indices": [[[0], [1]], [0, 1]], "updates": [floats(2, 2)], "shape": [[4, 2]]}),
    (r"stateless", {"seed": [[1, 2], [3, 4]], "shape": [[2, 3]], "dtype":
                    [Made("dtype", "float32"), Made("dtype", "float64")]}),
    (r"sets\.", {"a": [integers(2, 3)], "b": [integers(2, 3), Made("sparse ids", [2, 3])],
                 "validate_indices": [True]}),
    (r"linalg|eig|svd|matrix_|cholesky|lu$", {
        "input": [Made("positive definite")], "a": [Made("positive definite")],
        "tensor": [Made("positive definite")], "matrix": [Made("positive definite")]}),
    (r"candidate_sampler|nce_loss|sampled", {
        "weights": [floats(6, 2)], "biases": [floats(6)], "inputs": [floats(2, 2)],
        "labels": [Made("integers64", [2, 1])], "num_classes": [6], "num_sampled": [3],
        "unique": [True, False], "range_max": [6], "unigrams": [[0.1, 0.2, 0.3, 0.2, 0.1, 0.1]]}),
    (r"summary", {"tensor": [floats(), floats(2, 4, 4, 3)], "inputs": [several()]}),
    (r"sparse_softmax|sparse_categorical", {"labels": [integers(2)], "logits": [floats(2, 3)],
                                            "y_true": [integers(2)], "y_pred": [floats(2, 3)]}),
    (r"quantize|fake_quant", {"min": [-1.0], "max": [1.0], "inputs": [floats(2, 3)]}),
]  # fmt: skip


def special(function_name: str, argument: str) -> list[Any]:
    """Return the values that a function takes for an argument, if they are of BY_FUNCTION."""
    for pattern, values in BY_FUNCTION:
        if argument in values and re.search(pattern, function_name):
            return values[argument]
    return []


#: Shapes that the tensors of a call may share, so that they fit one another.
SHAPES = [[2, 3], [2, 3], [3], [4], [2, 2], [3, 3], [], [2, 4, 3], [2, 4, 4, 3], [1, 4, 4, 4, 3]]
#: Constructors whose tensors may have another shape.
SHAPED = ("floats", "integers", "truths", "integers64", "doubles", "complex", "placeholder")
