"""Internal names of `tensorflow.python.ops.ragged` that have an equivalent of our own.

Names that are public ones, too, are listed one by one: the public functions are those of dense
tensors.
"""

from __future__ import annotations

# Module of TensorFlow: {module of ours: names}.
_NAMES = {
    "ragged_array_ops": {
        "masking": "boolean_mask",
        "partitions": "stack_dynamic_partitions",
        "ranks": "expand_dims rank size",
        "tiling": "tile",
    },
    "ragged_batch_gather_ops": {"gathering": "batch_gather"},
    "ragged_batch_gather_with_default_op": {"defaults": "batch_gather_with_default"},
    "ragged_concat_ops": {"joining": "concat stack"},
    "ragged_conversion_ops": {
        "dense_conversion": "from_sparse from_tensor ragged_to_dense to_sparse to_tensor",
    },
    "ragged_factory_ops": {"factories": "constant constant_value placeholder"},
    "ragged_functional_ops": {"mapping": "map_flat_values"},
    "ragged_gather_ops": {"gathering": "gather gather_nd"},
    "ragged_map_ops": {"loops": "map_fn"},
    "ragged_math_ops": {
        "ranges": "range",
        "reductions": (
            "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum "
            "segment_max segment_mean segment_min segment_prod segment_sqrt_n segment_sum"
        ),
    },
    "ragged_squeeze_op": {"ranks": "squeeze"},
    "ragged_string_ops": {
        "reductions": "reduce_join",
    },
    "ragged_tensor": {
        "conversion": "convert_to_tensor_or_ragged_tensor is_ragged match_row_splits_dtypes",
        "spec": "RaggedTensorSpec RaggedTensorType",
        "tensor": "RaggedTensor",
    },
    "ragged_tensor_shape": {
        "broadcasting": "broadcast_to",
        "dynamic_shape": "RaggedTensorDynamicShape broadcast_dynamic_shape",
    },
    "ragged_tensor_value": {"value": "RaggedTensorValue"},
    "ragged_util": {"splits": "assert_splits_match repeat_ranges"},
    "ragged_where_op": {"selecting": "where"},
    "segment_id_ops": {"segments": "row_splits_to_segment_ids segment_ids_to_row_splits"},
}
# Names that differ here, and those that are elsewhere.
_OTHERS = {
    "ragged_string_ops": {
        "ngrams": "stillflow.strings.splitting:ngrams",
        **{
            name: f"stillflow.strings.unicode:{name}"
            for name in (
                "unicode_decode", "unicode_decode_with_offsets", "unicode_encode",
                "unicode_split", "unicode_split_with_offsets",
            )
        },
    },
    "ragged_array_ops": {"ragged_one_hot": "stillflow.ragged.ranks:one_hot"},
    "ragged_factory_ops": {
        "_default_inner_shape_for_pylist": "stillflow.ragged.factories:default_inner_shape",
        "_find_scalar_and_max_depth": "stillflow.ragged.factories:depths",
    },
    "ragged_getitem": {"ragged_tensor_getitem": "stillflow.ragged.indexing:item"},
    "ragged_util": {
        "convert_to_int_tensor": "stillflow.ops.arrays.masks:to_integers",
        "get_positive_axis": "stillflow.ops.arrays.masks:positive_axis",
        "lengths_to_splits": "stillflow.ragged.segments:row_splits_of",
        "repeat": "stillflow.ops.arrays.masks:repeat",
    },
}
OBJECTS: dict[str, dict[str, str]] = {
    f"tensorflow.python.ops.ragged.{module}": {
        **{
            name: f"stillflow.ragged.{own}:{name}"
            for own, names in _NAMES.get(module, {}).items()
            for name in names.split()
        },
        **_OTHERS.get(module, {}),
    }
    for module in {**_NAMES, **_OTHERS}
}
# Of these generated functions, the public ones take ragged tensors.
OBJECTS["tensorflow.python.ops.gen_bitwise_ops"] = {
    name: f"stillflow.ops.bitwise:{name}"
    for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
    )
}
# Those of the module of dense strings give sparse tensors only.
OBJECTS["tensorflow.python.ops.string_ops"] = {
    "string_split": "stillflow.ops.strings.parts:split_at_characters",
    "string_split_v2": "stillflow.ops.strings.parts:split_at_separator",
}
