"""Operations of boosted trees by the short names that TensorFlow's own module gives them."""

from __future__ import annotations

from typing import Any

_QUANTILES = "BoostedTreesQuantileStreamResource"
NAMES = {
    "calculate_best_feature_split": "BoostedTreesCalculateBestFeatureSplit",
    "calculate_best_gains_per_feature": "BoostedTreesCalculateBestGainsPerFeature",
    "center_bias": "BoostedTreesCenterBias",
    "create_quantile_stream_resource": "BoostedTreesCreateQuantileStreamResource",
    "example_debug_outputs": "BoostedTreesExampleDebugOutputs",
    "get_bucket_boundaries": f"{_QUANTILES}GetBucketBoundaries",
    "is_quantile_resource_initialized": f"Is{_QUANTILES}Initialized",
    "make_quantile_summaries": "BoostedTreesMakeQuantileSummaries",
    "make_stats_summary": "BoostedTreesMakeStatsSummary",
    "predict": "BoostedTreesPredict",
    "quantile_add_summaries": f"{_QUANTILES}AddSummaries",
    "quantile_flush": f"{_QUANTILES}Flush",
    "quantile_resource_deserialize": f"{_QUANTILES}Deserialize",
    "quantile_resource_handle_op": f"{_QUANTILES}HandleOp",
    "sparse_calculate_best_feature_split": "BoostedTreesSparseCalculateBestFeatureSplit",
    "training_predict": "BoostedTreesTrainingPredict",
    "update_ensemble": "BoostedTreesUpdateEnsemble",
    "update_ensemble_v2": "BoostedTreesUpdateEnsembleV2",
}


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    # the resolver of names is imported before operations
    from stillflow.ops.raw_ops import positional

    return positional(NAMES[name])


def __dir__() -> list[str]:
    return sorted(NAMES)
