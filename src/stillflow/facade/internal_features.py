"""Internal names of `tensorflow.python.feature_column` that have an equivalent of our own."""

from __future__ import annotations

_TF, _OURS = "tensorflow.python.feature_column", "stillflow.feature_column"


def _modules(*names: str) -> str:
    return " ".join(f"{_OURS}.{name}" for name in names)


_COLUMNS = ("numeric", "categorical", "crossed", "embedding", "indicator", "weighted")
_ALL = _modules(
    "base", *_COLUMNS, "shared_embedding", "sequence", "parsing", "cache", "state", "linear_layer",
    "transforming",
)  # fmt: skip

# Names that start with an underscore there and here.
_UNDERSCORED = {
    name: f"{_OURS}.{module}:{name}"
    for module, names in {
        "base": ("_FeatureColumn", "_DenseColumn", "_CategoricalColumn", "_SequenceDenseColumn"),
        "cache": ("_LazyBuilder",),
        "linear_model": ("_LinearModel",),
        "shared_embedding": ("_SharedEmbeddingColumn",),
    }.items()
    for name in names
}

# The older generation's columns and functions are those of the present one: they serve both.
_OLDER = {
    f"_{name}": f"{_OURS}.{module}:{name}"
    for module, names in {
        "numeric": ("numeric_column", "bucketized_column", "NumericColumn", "BucketizedColumn"),
        "categorical": (
            "categorical_column_with_hash_bucket", "categorical_column_with_identity",
            "categorical_column_with_vocabulary_file", "categorical_column_with_vocabulary_list",
            "HashedCategoricalColumn", "IdentityCategoricalColumn",
            "VocabularyFileCategoricalColumn", "VocabularyListCategoricalColumn",
        ),
        "crossed": ("crossed_column", "CrossedColumn"),
        "embedding": ("embedding_column", "EmbeddingColumn"),
        "indicator": ("indicator_column", "IndicatorColumn"),
        "weighted": ("weighted_categorical_column", "WeightedCategoricalColumn"),
        "sequence": ("SequenceCategoricalColumn",),
        "transforming": ("transform_features",),
    }.items()
    for name in names
}  # fmt: skip

_PRESENT = {
    "_LinearModelLayer": f"{_OURS}.linear_layer:_LinearModelLayer",
    "_StateManagerImpl": f"{_OURS}.state:LayerState",
    "_normalize_feature_columns": f"{_OURS}.checks:as_columns",
    "_to_sparse_input_and_drop_ignore_values": f"{_OURS}.cache:as_sparse",
    "_transform_features_v2": f"{_OURS}.transforming:transform_features_v2",
    "_verify_static_batch_size_equality": f"{_OURS}.checks:check_batch_sizes",
    "*": _ALL,
}
_SEQUENCES = {
    "_assert_all_equal_and_return": f"{_OURS}.feature_layers:all_equal",
    "concatenate_context_input": f"{_OURS}.sequence_input_layer:concatenate_context_input",
    "*": _modules("sequence"),
}

OBJECTS: dict[str, dict[str, str]] = {
    f"{_TF}.feature_column": {
        **_UNDERSCORED,
        **_OLDER,
        "InputLayer": f"{_OURS}.input_layer:InputLayer",
        "_normalize_feature_columns": f"{_OURS}.checks:as_columns",
        "_to_sparse_input_and_drop_ignore_values": f"{_OURS}.cache:as_sparse",
    },
    f"{_TF}.feature_column_v2": _PRESENT,
    f"{_TF}.feature_column_lib": {
        **_PRESENT,
        "InputLayer": f"{_OURS}.input_layer:InputLayer",
        "sequence_numeric_column": f"{_OURS}.sequence:sequence_numeric_column",
    },
    f"{_TF}.sequence_feature_column": _SEQUENCES,
    "tensorflow.contrib.feature_column.python.feature_column.sequence_feature_column": _SEQUENCES,
    f"{_TF}.serialization": {
        "_column_name_with_class_name": f"{_OURS}.serialization:name_with_class",
        "*": _modules("serialization"),
    },
    f"{_TF}.utils": {
        "sequence_length_from_sparse_tensor": f"{_OURS}.lookups:sequence_lengths",
        "assert_string_or_int": f"{_OURS}.checks:check_string_or_int",
        "assert_key_is_string": f"{_OURS}.checks:check_key",
        "check_default_value": f"{_OURS}.checks:check_default",
    },
}
