"""Readers of series: from arrays, from files of comma-separated values, from TFRecords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries import limits
from stillflow_contrib.timeseries.feature_keys import TrainEvalFeatures
from stillflow_contrib.timeseries.numpy_series import canonicalize_numpy_data

if TYPE_CHECKING:
    from stillflow.ops.io.readers.classes import TextLineReader
    from stillflow.ops.tensor_array.tensor_array import TensorArray


_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES


class TimeSeriesReader:
    """Reader of a series into the graph."""

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        """Raise a ValueError if it is known that the series is shorter than that."""

    def read(self) -> dict[str, Any]:
        """Return some of the series, {name: tensor [times, ...]}, endlessly."""
        raise NotImplementedError

    def read_full(self) -> dict[str, Any]:
        """Return the whole series, {name: tensor [times, ...]}."""
        raise NotImplementedError


@export("contrib.timeseries.NumpyReader")
class NumpyReader(TimeSeriesReader):
    """Reader of arrays.

    Args:
      data: {name: array}: times [length], values [length] or [length, features], others
        [length, ...].
      read_num_records_hint: how many times are read at once.

    Raises:
      ValueError: if times or values are missing, or lengths differ.
    """

    def __init__(self, data: dict[str, Any], read_num_records_hint: int = 4096) -> None:
        self._features = canonicalize_numpy_data(data, require_single_batch=True)
        self._read_num_records_hint = read_num_records_hint

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        """Raise a ValueError if there are less times."""
        there = self._features[_TIMES].shape[1]
        if there < minimum_dataset_size:
            raise ValueError(
                "A TimeSeriesInputFn is configured to create windows of size "
                f"{minimum_dataset_size}, but only {there} records were available in the dataset. "
                "Either decrease the window size or provide more records."
            )

    def read(self) -> dict[str, Any]:
        """Return the next times, from the beginning again after the end."""
        features = {key: np.squeeze(value, axis=0) for key, value in self._features.items()}
        result: dict[str, Any] = tf.estimator.inputs.numpy_input_fn(
            features, batch_size=self._read_num_records_hint, num_epochs=None, shuffle=False
        )()
        return result

    def read_full(self) -> dict[str, Any]:
        """Return the whole series."""
        features = tf.estimator.inputs.numpy_input_fn(
            self._features, batch_size=1, num_epochs=None, queue_capacity=2, shuffle=False
        )()
        return {name: tf.squeeze(value, axis=0) for name, value in features.items()}


class ReaderBaseTimeSeriesParser(TimeSeriesReader):
    """Base of readers of files' records by a `tf.ReaderBase`; subclasses parse them.

    Args:
      filenames: the names of files, in the order in which they are read.
      read_num_records_hint: how many records are read at once.
    """

    def __init__(self, filenames: Any, read_num_records_hint: int = 4096) -> None:
        self._filenames = filenames
        self._read_num_records_hint = read_num_records_hint

    def _get_reader(self) -> Any:
        """Return a reader of records."""
        raise NotImplementedError

    def _process_records(self, lines: Any) -> dict[str, Any]:
        """{name: tensor [records, ...]} of records [records]."""
        raise NotImplementedError

    def _get_filename_queue(self, epoch_limit: int) -> tuple[Any, Any]:
        """Return a queue of names that ends after so many epochs, unless the count is reset."""
        limiter = limits.counter("epoch_limiter")
        names = tf.reshape(tf.convert_to_tensor(self._filenames), [-1])
        counted = limits.once_initialized(limiter, lambda: limiter.count_up_to(epoch_limit))
        with tf.control_dependencies([counted]):
            names = tf.identity(names)
        return tf.train.string_input_producer(names, shuffle=False, capacity=1), limiter

    def read(self) -> dict[str, Any]:
        """Return the next records, from the first file again after the last."""
        queue, limiter = self._get_filename_queue(self._read_num_records_hint)
        reader = self._get_reader()
        with tf.control_dependencies([tf.assign(limiter, 0)]):
            _, records = reader.read_up_to(queue, self._read_num_records_hint)
        return self._process_records(records)

    def read_full(self) -> dict[str, Any]:
        """All records of all files: read until the first comes again."""
        reader = self._get_reader()
        queue, limiter = self._get_filename_queue(epoch_limit=2)
        with tf.control_dependencies([tf.assign(limiter, 0)]):
            first_key, first_value = reader.read_up_to(queue, 1)

        def more(key: Any, *_: Any) -> Any:
            return tf.not_equal(tf.squeeze(key, axis=0), tf.squeeze(first_key, axis=0))

        def read_one(
            _: Any, value: Any, index: Any, collected: Any
        ) -> tuple[Tensor, Tensor, Tensor, TensorArray]:
            new_key, new_value = reader.read_up_to(queue, 1)
            new_key.set_shape([1])
            new_value.set_shape([1])
            return new_key, new_value, index + 1, collected.write(index, value)

        no_key = tf.constant([""])
        array = tf.TensorArray(dtype=tf.string, size=0, dynamic_size=True)
        *_, collected = tf.while_loop(more, read_one, [no_key, first_value, 0, array])
        records = collected.concat()
        # The reader stopped within a file; the next read begins with the first.
        with tf.control_dependencies([records]):
            reset = reader.reset()
        with tf.control_dependencies([reset]):
            records = tf.identity(records)
        return self._process_records(records)


@export("contrib.timeseries.CSVReader")
class CSVReader(ReaderBaseTimeSeriesParser):
    """Reader of lines of comma-separated values.

    Args:
      filenames: the names of files, in the order in which they are read.
      column_names: what the columns are; those of the same name are the features of one value.
      column_dtypes: their types; by default int64 for times and float32 for others.
      skip_header_lines: how many lines at the beginning of each file are left out.
      read_num_records_hint: how many lines are read at once.

    Raises:
      ValueError: if times or values are missing, or there are not as many types as columns.
    """

    def __init__(
        self, filenames: Any, column_names: Sequence[str] = (_TIMES, _VALUES),
        column_dtypes: Any = None, skip_header_lines: int | None = None,
        read_num_records_hint: int = 4096,
    ) -> None:  # fmt: skip
        _check_required(column_names)
        if column_dtypes is not None and len(column_dtypes) != len(column_names):
            raise ValueError(
                "If specified, the length of column_dtypes must match the length of column_names "
                f"(got column_dtypes={column_dtypes} and column_names={column_names})."
            )
        if list(column_names).count(_TIMES) != 1:
            raise ValueError(
                f"Got more than one times column ('{_TIMES}'), but exactly one is required."
            )
        self._column_names = column_names
        self._column_dtypes = column_dtypes
        self._skip_header_lines = skip_header_lines
        super().__init__(filenames, read_num_records_hint)

    def _get_reader(self) -> TextLineReader:
        return tf.TextLineReader(skip_header_lines=self._skip_header_lines)

    def _process_records(self, lines: Any) -> dict[str, Any]:
        if self._column_dtypes is None:
            defaults = [
                (tf.zeros([], tf.int64),) if name == _TIMES else () for name in self._column_names
            ]
        else:
            defaults = [(tf.zeros([], dtype),) for dtype in self._column_dtypes]
        columns: dict[str, list[Any]] = {}
        for name, value in zip(self._column_names, tf.decode_csv(lines, defaults), strict=True):
            columns.setdefault(name, []).append(value)
        return {
            name: values[0] if name == _TIMES else tf.stack(values, axis=1)
            for name, values in columns.items()
        }


class TFExampleReader(ReaderBaseTimeSeriesParser):
    """Reader of TFRecords of `tf.train.Example`s, one for each time.

    Args:
      filenames: the names of files, in the order in which they are read.
      features: {name: `tf.FixedLenFeature`}, with times and values.

    Raises:
      ValueError: if times or values are missing.
    """

    def __init__(self, filenames: Any, features: dict[str, Any]) -> None:
        _check_required(features)
        self._features = features
        super().__init__(filenames)

    def _get_reader(self) -> Any:
        return tf.TFRecordReader()

    def _process_records(self, lines: Any) -> dict[str, Any]:
        parsed: dict[str, Any] = tf.parse_example(lines, self._features)
        return parsed


def _check_required(names: Any) -> None:
    for required in (_TIMES, _VALUES):
        if required not in names:
            raise ValueError(f"'{required}' is a required column.")
