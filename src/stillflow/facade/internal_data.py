"""Internal names of TensorFlow's input pipelines that have an equivalent of our own."""

from __future__ import annotations

_EXPERIMENTAL = "tensorflow.python.data.experimental.ops"

OBJECTS: dict[str, dict[str, str]] = {
    f"{_EXPERIMENTAL}.batching": {
        "_DenseToSparseBatchDataset": "stillflow.data.batching:_DenseToSparseBatchDataset",
        "_MapAndBatchDataset": "stillflow.data.experimental:_MapAndBatchDataset",
        "*": "stillflow.data.experimental",
    },
    f"{_EXPERIMENTAL}.grouping": {"*": "stillflow.data.grouping"},
    f"{_EXPERIMENTAL}.interleave_ops": {
        "_DirectedInterleaveDataset": "stillflow.data.choosing:_DirectedInterleaveDataset",
        "*": "stillflow.data.choosing stillflow.data.experimental",
    },
    f"{_EXPERIMENTAL}.map_defun": {"*": "stillflow.data.map_defun"},
    f"{_EXPERIMENTAL}.matching_files": {"*": "stillflow.data.matching_files"},
    f"{_EXPERIMENTAL}.optimization": {
        **{
            name: f"stillflow.data.optimization:{name}"
            for name in (
                "_AssertNextDataset", "_ChooseFastestBranchDataset", "_ChooseFastestDataset",
                "_NonSerializableDataset",
            )
        },
        "*": "stillflow.data.optimization",
    },
    f"{_EXPERIMENTAL}.readers": {
        "*": "stillflow.data.record_files stillflow.data.csv stillflow.data.sql",
    },
    f"{_EXPERIMENTAL}.sleep": {"*": "stillflow.data.sleeping"},
    f"{_EXPERIMENTAL}.snapshot": {"*": "stillflow.data.snapshot"},
    f"{_EXPERIMENTAL}.stats_aggregator": {
        "StatsAggregatorV2": "stillflow.data.stats:StatsAggregatorV2",
        "*": "stillflow.data.stats",
    },
    f"{_EXPERIMENTAL}.stats_ops": {"*": "stillflow.data.stats"},
    f"{_EXPERIMENTAL}.threadpool": {"*": "stillflow.data.threadpool"},
    "tensorflow.contrib.data.python.ops.threadpool": {"*": "stillflow.data.threadpool"},
    "tensorflow.contrib.data.python.ops.batching": {
        "_RestructuredDataset": "stillflow_contrib.data.transformations:_RestructuredDataset",
    },
    "tensorflow.python.data.ops.dataset_ops": {
        "Dataset": "stillflow.data.dataset_v1:DatasetV1",
        "_MaxIntraOpParallelismDataset":
            "stillflow.data.wrapping:_MaxIntraOpParallelismDataset",
        "_VariantDataset": "stillflow.data.specs:_VariantDataset",
        "_GeneratorDataset": "stillflow.data.generator:_GeneratorDataset",
        "*": "stillflow.data.dataset stillflow.data.dataset_v1 stillflow.data.specs"
        " stillflow.data.options stillflow.data.structured_function stillflow.data.mapping"
        " stillflow.data.transforming stillflow.data.batching stillflow.data.combining"
        " stillflow.data.sources stillflow.data.wrapping stillflow.data.generator",
    },
    "tensorflow.python.data.ops.iterator_ops": {"*": "stillflow.data.iterator"},
    "tensorflow.python.data.ops.optional_ops": {
        "_OptionalImpl": "stillflow.data.optional:_OptionalImpl",
        "*": "stillflow.data.optional",
    },
    "tensorflow.python.data.ops.readers": {
        **{
            f"_{kind}Dataset": f"stillflow.data.readers:_{kind}Dataset"
            for kind in ("FixedLengthRecord", "TextLine", "TFRecord")
        },
        "*": "stillflow.data.readers",
    },
    "tensorflow.python.data.util.random_seed": {"get_seed": "stillflow.data.convert:get_seed"},
}
