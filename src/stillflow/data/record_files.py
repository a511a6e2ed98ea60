"""Batches of record files' contents: of records, and of the features of examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.data import structure
from stillflow.data.dataset import (
    UnaryDataset,
    get_legacy_output_shapes,
    get_legacy_output_types,
)
from stillflow.data.dataset_v1 import DatasetV1, DatasetV1Adapter
from stillflow.data.experimental import (
    Transformation,
    parallel_interleave,
    shuffle_and_repeat,
)
from stillflow.data.mapping import MapDataset
from stillflow.data.options import AUTOTUNE, Options
from stillflow.data.readers import TFRecordDataset
from stillflow.graph import dtypes
from stillflow.graph.composite_specs import SparseTensorSpec
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import as_shape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import BatchableTypeSpec
from stillflow.ops.data.parsing import parse_example_dataset_op
from stillflow.ops.io.parsing.features import (
    SparseFeature,
    defaults,
    merged_sparse,
    parameters,
    with_row_dimension,
)
from stillflow.ops.io.readers.classes import ReaderBase


def maybe_shuffle_and_repeat(
    dataset: Any, num_epochs: Any, shuffle: Any, shuffle_buffer_size: Any, shuffle_seed: Any
) -> Any:
    """Return a dataset in random order and several times, as far as that is wished."""
    if num_epochs != 1 and shuffle:
        return dataset.apply(shuffle_and_repeat(shuffle_buffer_size, num_epochs, shuffle_seed))
    if shuffle:
        return dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        return dataset.repeat(num_epochs)
    return dataset


# ---- features of examples


class _ParseExampleDataset(UnaryDataset):
    """The features of batches of serialized examples."""

    def __init__(self, input_dataset: Any, features: Any, num_parallel_calls: Any) -> None:
        if not structure.are_compatible(
            input_dataset.element_spec, TensorSpec([None], dtypes.string)
        ):
            raise TypeError("Input dataset should be a dataset of vectors of strings")
        made = parameters(with_row_dimension(features))
        made.check()
        shapes = [as_shape(shape) for shape in made.dense_shapes]
        fillers = defaults(made, shapes)
        batch = get_legacy_output_shapes(input_dataset)
        dense = [
            TensorSpec(batch.concatenate(shape), dtype)
            for shape, dtype in zip(shapes, made.dense_types, strict=True)
        ]
        sparse = [SparseTensorSpec(batch.concatenate([None]), t) for t in made.sparse_types]
        self._element_spec = dict(
            zip([*made.dense_keys, *made.sparse_keys], [*dense, *sparse], strict=True)
        )
        super().__init__(
            input_dataset,
            parse_example_dataset_op(
                input_dataset._variant_tensor, num_parallel_calls, fillers,
                sparse_keys=made.sparse_keys, dense_keys=made.dense_keys,
                sparse_types=made.sparse_types, dense_shapes=shapes, **self._flat_structure,
            ),
        )  # fmt: skip

    @property
    def element_spec(self) -> dict[str, BatchableTypeSpec]:
        return self._element_spec


@export("data.experimental.parse_example_dataset", "contrib.data.parse_example_dataset")
def parse_example_dataset(features: Any, num_parallel_calls: Any = 1) -> Transformation:
    """Parse batches of serialized `Example`s.

    Args:
      features: descriptions by name, as `tf.io.parse_example` takes them.
      num_parallel_calls: how many batches are parsed at a time.

    Raises:
      ValueError: if there are no features.
    """
    if features is None:
        raise ValueError(f"Missing: features was {features}.")

    def apply(dataset: Any) -> Any:
        parsed = _ParseExampleDataset(dataset, features, num_parallel_calls)
        if not any(isinstance(feature, SparseFeature) for feature in features.values()):
            return parsed
        return parsed.map(
            lambda found: merged_sparse(features, found), num_parallel_calls=num_parallel_calls
        )

    return apply


def read_files(
    names: Any, open_one: Callable[[Any], Any], num_threads: Any, sloppy_ordering: Any
) -> Any:
    """Return the content of files, several at a time; the order may vary if sloppy.

    `names` is a dataset of their names; `open_one` makes the dataset of a file.
    """
    if num_threads == AUTOTUNE:
        options = Options()
        options.experimental_deterministic = not sloppy_ordering
        return names.interleave(open_one, num_parallel_calls=num_threads).with_options(options)
    return names.apply(
        parallel_interleave(open_one, cycle_length=num_threads, sloppy=sloppy_ordering)
    )


@export(
    "data.experimental.make_batched_features_dataset", "contrib.data.make_batched_features_dataset"
)
def make_batched_features_dataset(
    file_pattern: Any, batch_size: Any, features: Any, reader: Any = TFRecordDataset,
    label_key: Any = None, reader_args: Any = None, num_epochs: Any = None, shuffle: Any = True,
    shuffle_buffer_size: Any = 10000, shuffle_seed: Any = None, prefetch_buffer_size: Any = None,
    reader_num_threads: Any = None, parser_num_threads: Any = None, sloppy_ordering: Any = False,
    drop_final_batch: Any = False,
) -> DatasetV1Adapter:  # fmt: skip
    """Batches of the features of the examples in files.

    Args:
      file_pattern: a pattern or a list of patterns.
      batch_size: how many examples a batch has.
      features: descriptions by name, as `tf.io.parse_example` takes them.
      reader: makes the dataset of a file, whose elements are serialized examples.
      label_key: the feature that is returned next to the dict of the others.
      reader_args: more arguments of `reader`.
      num_epochs: how many times files are read; for ever by default.
      shuffle, shuffle_buffer_size, shuffle_seed: whether and how examples are shuffled.
      prefetch_buffer_size: how many batches are made ahead.
      reader_num_threads: how many files are read at a time, 1 by default.
      parser_num_threads: how many batches are parsed at a time, 2 by default.
      sloppy_ordering: whether the order may depend on who is faster.
      drop_final_batch: whether a last batch of fewer examples is left out.

    Raises:
      TypeError: if `reader` is a reader of queues.
      ValueError: if `label_key` is none of the features.
    """
    dataset = DatasetV1.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    if isinstance(reader, type) and issubclass(reader, ReaderBase):
        raise TypeError(
            "The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are "
            "not supported. For example, pass `tf.data.TFRecordDataset` instead of "
            "`tf.TFRecordReader`."
        )
    dataset = read_files(
        dataset, lambda filename: reader(filename, *(reader_args or ())),
        1 if reader_num_threads is None else reader_num_threads, sloppy_ordering,
    )  # fmt: skip
    if get_legacy_output_types(dataset) == (dtypes.string, dtypes.string):
        dataset = MapDataset(dataset, lambda _, value: value, use_inter_op_parallelism=False)
    dataset = maybe_shuffle_and_repeat(
        dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed
    )
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    threads = 2 if parser_num_threads is None else parser_num_threads
    dataset = dataset.apply(parse_example_dataset(features, num_parallel_calls=threads))
    if label_key:
        if label_key not in features:
            raise ValueError(
                f"The `label_key` provided ({label_key!r}) must be one of the `features` keys."
            )
        dataset = dataset.map(lambda found: (found, found.pop(label_key)))
    size = AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size
    return DatasetV1Adapter(dataset.prefetch(size))


@export("contrib.data.read_batch_features")
def read_batch_features(
    file_pattern: Any, batch_size: Any, features: Any, reader: Any = TFRecordDataset,
    reader_args: Any = None, randomize_input: Any = True, num_epochs: Any = None,
    capacity: Any = 10000,
) -> Any:  # fmt: skip
    """Return the next batch of the features of the examples in files: tensors by name.

    Args:
      file_pattern, batch_size, features, reader, reader_args, num_epochs: see
        `make_batched_features_dataset`.
      randomize_input: whether examples are shuffled.
      capacity: from how many.
    """
    dataset = make_batched_features_dataset(
        file_pattern, batch_size, features, reader=reader, reader_args=reader_args,
        shuffle=randomize_input, num_epochs=num_epochs, shuffle_buffer_size=capacity,
    )  # fmt: skip
    return dataset._make_one_shot_iterator().get_next()


# ---- records


def make_tf_record_dataset(
    file_pattern: Any, batch_size: Any, parser_fn: Any = None, num_epochs: Any = None,
    shuffle: Any = True, shuffle_buffer_size: Any = None, shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None, num_parallel_reads: Any = None,
    num_parallel_parser_calls: Any = None, drop_final_batch: Any = False,
) -> Any:  # fmt: skip
    """Return batches of the records of TFRecord files, each parsed if there is a `parser_fn`.

    `file_pattern` may be a list. Several files are read, and several records parsed, at a time. For
    the other arguments see `make_batched_features_dataset`.
    """
    files = DatasetV1.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    reads = 24 if num_parallel_reads is None else num_parallel_reads
    dataset = TFRecordDataset(files, num_parallel_reads=reads)
    buffered = 10000 if shuffle_buffer_size is None else shuffle_buffer_size
    dataset = maybe_shuffle_and_repeat(dataset, num_epochs, shuffle, buffered, shuffle_seed)
    if parser_fn is not None:
        calls = batch_size if num_parallel_parser_calls is None else num_parallel_parser_calls
        dataset = dataset.map(parser_fn, num_parallel_calls=calls)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    if prefetch_buffer_size == 0:
        return dataset
    size = AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size
    return dataset.prefetch(buffer_size=size)
