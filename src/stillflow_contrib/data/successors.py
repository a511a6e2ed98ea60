"""Functions of `tf.contrib.data` that live on in `tf.data.experimental`.

They import much that the other functions do without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.data import csv, grouping
from stillflow.data.experimental import Transformation
from stillflow.graph.export import export


@export("contrib.data.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Any,
    bucket_batch_sizes: Any,
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
) -> Transformation:
    """Batch elements of about the same length; see `tf.data.experimental`'s of this name."""
    return grouping.bucket_by_sequence_length(
        element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values,
        pad_to_bucket_boundary, no_padding,
    )  # fmt: skip


@export("contrib.data.make_csv_dataset")
def make_csv_dataset(
    file_pattern: Any, batch_size: Any, column_names: Any = None, column_defaults: Any = None,
    label_name: Any = None, select_columns: Any = None, field_delim: Any = ",",
    use_quote_delim: Any = True, na_value: Any = "", header: Any = True, num_epochs: Any = None,
    shuffle: Any = True, shuffle_buffer_size: Any = 10000, shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None, num_parallel_reads: Any = None, sloppy: Any = False,
    num_rows_for_inference: Any = 100, compression_type: Any = None,
) -> Any:  # fmt: skip
    """Return batches of records of CSV files; see `tf.data.experimental.make_csv_dataset`."""
    return csv.make_csv_dataset(
        file_pattern, batch_size, column_names, column_defaults, label_name, select_columns,
        field_delim, use_quote_delim, na_value, header, num_epochs, shuffle, shuffle_buffer_size,
        shuffle_seed, prefetch_buffer_size, num_parallel_reads, sloppy, num_rows_for_inference,
        compression_type,
    )  # fmt: skip
