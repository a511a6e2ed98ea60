"""Functions of `tf.compat.v2.data` under names that `tf.data` has for TensorFlow 1's."""

from __future__ import annotations

from stillflow.data.choosing import choose_from_datasets, sample_from_datasets
from stillflow.data.csv import make_csv_dataset
from stillflow.data.experimental import Counter
from stillflow.data.record_files import make_batched_features_dataset
from stillflow.graph.export import export_value

export_value("compat.v2.data.experimental.Counter", Counter)
export_value("compat.v2.data.experimental.choose_from_datasets", choose_from_datasets)
export_value(
    "compat.v2.data.experimental.make_batched_features_dataset", make_batched_features_dataset
)
export_value("compat.v2.data.experimental.make_csv_dataset", make_csv_dataset)
export_value("compat.v2.data.experimental.sample_from_datasets", sample_from_datasets)
