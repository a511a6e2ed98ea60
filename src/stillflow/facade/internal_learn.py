"""Internal names of `tensorflow.contrib` for learning: feature columns."""

from __future__ import annotations

_LAYERS = "tensorflow.contrib.layers.python"
_OURS = "stillflow_contrib.layers"
_ESTIMATORS = "tensorflow.contrib.learn.python.learn.estimators"
_LEARN = "stillflow_contrib.learn"
_FACTORIZATION = "tensorflow.contrib.factorization.python.ops"


def _columns(*names: str) -> str:
    return " ".join(f"{_OURS}.feature_columns.{name}" for name in names)


# Names that start with an underscore there and here: the classes of columns, and their parts.
_COLUMNS = {
    name: f"{_OURS}.feature_columns.{module}:{name}"
    for module, names in {
        "base": ("_FeatureColumn", "_LinearEmbeddingLookupArguments",
                 "_DeepEmbeddingLookupArguments"),
        "sparse": ("_SparseIdLookupConfig", "_SparseColumn", "_SparseColumnIntegerized",
                   "_SparseColumnHashed", "_SparseColumnKeys", "_SparseColumnVocabulary"),
        "weighted": ("_WeightedSparseColumn",),
        "one_hot": ("_OneHotColumn",),
        "embedding": ("_EmbeddingColumn", "_ScatteredEmbeddingColumn"),
        "real_valued": ("_RealValuedColumn", "_RealValuedVarLenColumn",
                        "_real_valued_var_len_column"),
        "bucketized": ("_BucketizedColumn",),
        "crossed": ("_CrossedColumn",),
    }.items()
    for name in names
}

# Heads have public names and older ones with an underscore.
_HEADS = {
    **{f"_{name}": f"{_LEARN}.heads.{module}:{name}"
       for module, names in {
           "base": ("Head",),
           "classification": ("multi_class_head", "multi_label_head", "binary_svm_head"),
           "combined": ("multi_head",),
           "regression": ("regression_head", "poisson_regression_head"),
       }.items()
       for name in names},
    **{name: f"{_LEARN}.heads.{module}:{name}"
       for module, names in {
           "base": ("_SingleHead",),
           "classification": ("_BinaryLogisticHead", "_BinarySvmHead", "_MultiClassHead",
                              "_MultiLabelHead"),
           "combined": ("_LossOnlyHead", "_MultiHead"),
           "regression": ("_RegressionHead",),
       }.items()
       for name in names},
}

OBJECTS: dict[str, dict[str, str]] = {
    f"{_LAYERS}.layers.embedding_ops": {
        "_sampled_scattered_embedding_lookup":
            f"{_OURS}.scattered_embeddings:sampled_scattered_embedding_lookup",
        "_sampled_scattered_embedding_lookup_sparse":
            f"{_OURS}.scattered_embeddings:sampled_scattered_embedding_lookup_sparse",
        "*": f"{_OURS}.embedding_lookups {_OURS}.scattered_embeddings {_OURS}.embeddings"
             f" {_OURS}.aggregated_embeddings",
    },
    f"{_LAYERS}.layers.feature_column": {
        **_COLUMNS,
        "InputLayer": "stillflow.feature_column.input_layer:InputLayer",
        "_embeddings_from_arguments": f"{_OURS}.feature_columns.vectors:embed",
        "_create_sequence_feature_spec_for_parsing":
            f"{_OURS}.feature_columns.parsing:sequence_feature_spec",
        "*": _columns("base", "sparse", "weighted", "one_hot", "embedding", "real_valued",
                      "bucketized", "crossed", "parsing"),
    },
    f"{_LAYERS}.layers.feature_column_ops": {
        "_Transformer": f"{_OURS}.feature_columns.transforming:_Transformer",
        "*": _columns("input_layers", "weighted_sums", "transforming"),
    },
    "tensorflow.contrib.learn.python.learn": {"run_config": f"{_LEARN}.run_config"},
    f"{_ESTIMATORS}.dnn": {
        "_dnn_model_fn": f"{_LEARN}.canned.deep:_dnn_model_fn",
        "*": f"{_LEARN}.canned.deep",
    },
    f"{_ESTIMATORS}.dnn_linear_combined": {
        "_dnn_linear_combined_model_fn":
            f"{_LEARN}.canned.wide_and_deep:_dnn_linear_combined_model_fn",
        "*": f"{_LEARN}.canned.wide_and_deep",
    },
    f"{_ESTIMATORS}.dynamic_rnn_estimator": {
        "_get_state_name": f"{_LEARN}.canned.dynamic_rnn:state_name",
        "_get_output_alternatives": f"{_LEARN}.canned.dynamic_rnn:output_alternatives",
        "_get_dynamic_rnn_model_fn": f"{_LEARN}.canned.dynamic_rnn:dynamic_rnn_model_fn",
        "*": f"{_LEARN}.canned.dynamic_rnn {_LEARN}.canned.recurrent_parts",
    },
    "tensorflow.contrib.learn.python.learn.utils.export": {
        "_export_estimator": f"{_LEARN}.bundle_export:export_bundle",
        "_default_input_fn": f"{_LEARN}.bundle_export:parse_features",
        "*": f"{_LEARN}.bundle_export",
    },
    f"{_ESTIMATORS}.rnn_common": {"*": f"{_LEARN}.canned.recurrent_parts"},
    f"{_LAYERS}.layers.target_column": {
        "*": "stillflow_contrib.learn.targets stillflow_contrib.learn.keys",
    },
    f"{_ESTIMATORS}.head": {
        **_HEADS,
        "*": f"{_LEARN}.heads.base {_LEARN}.heads.regression {_LEARN}.heads.classification"
             f" {_LEARN}.heads.combined",
    },
    f"{_FACTORIZATION}.clustering_ops": {
        "*": "stillflow_contrib.factorization.clustering stillflow_contrib.ops.clustering",
    },
    f"{_FACTORIZATION}.factorization_ops": {
        "*": "stillflow_contrib.factorization.wals_model stillflow_contrib.ops.factorization",
    },
    f"{_FACTORIZATION}.gen_factorization_ops": {"*": "stillflow_contrib.ops.factorization"},
    f"{_FACTORIZATION}.gmm_ops": {
        "_covariance": "stillflow_contrib.factorization.mixtures:covariance",
        "*": "stillflow_contrib.factorization.mixtures",
    },
    f"{_FACTORIZATION}.wals": {
        "_SweepHook": "stillflow_contrib.factorization.wals_hooks:SweepHook",
        "_StopAtSweepHook": "stillflow_contrib.factorization.wals_hooks:StopAtSweepHook",
        "*": "stillflow_contrib.factorization.wals",
    },
    f"{_FACTORIZATION}.kmeans": {
        "_parse_features_if_necessary": "stillflow_contrib.factorization.kmeans:_points",
        "clustering_ops": "stillflow_contrib.factorization.clustering",
        "*": "stillflow_contrib.factorization.kmeans",
    },
    f"{_ESTIMATORS}.linear": {
        "_linear_model_fn": f"{_LEARN}.canned.wide:linear_model_fn",
        "*": f"{_LEARN}.canned.wide",
    },
    f"{_LAYERS}.layers.rev_block_lib": {
        "_force_data_dependency": f"{_OURS}.recomputing:_after",
        "*": f"{_OURS}.reversible {_OURS}.recomputing",
    },
    f"{_LAYERS}.ops.bucketization_op": {"bucketize": "stillflow.ops.math.counting:bucketize"},
    f"{_LAYERS}.ops.sparse_feature_cross_op": {"*": "stillflow_contrib.ops.feature_crossing"},
    f"{_LAYERS}.ops.sparse_ops": {"*": f"{_OURS}.sparse_conversion"},
}
