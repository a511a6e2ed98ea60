"""Datasets of files' contents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.data import dataset as dataset_module
from stillflow.data.convert import optional_param_to_tensor
from stillflow.data.dataset import (
    DatasetSource,
    DatasetV2,
    get_legacy_output_shapes,
    get_legacy_output_types,
)
from stillflow.data.dataset_v1 import DatasetV1Adapter
from stillflow.data.mapping import FlatMapDataset, InterleaveDataset, _Mapped
from stillflow.data.options import AUTOTUNE
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.card import Card
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.data import files as cards
from stillflow.ops.data import interleaving
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.io.whole_files import matching_files
from stillflow.ops.math.binary import add, maximum
from stillflow.ops.math.comparison import greater
from stillflow.ops.strings.joining import reduce_join

_BUFFER_SIZE = 256 * 1024


def list_files(file_pattern: Any, shuffle: Any = None, seed: Any = None) -> Any:
    """See `Dataset.list_files`."""
    with name_scope("list_files"):
        names = _matching(convert_to_tensor(file_pattern, dtypes.string, name="file_pattern"))
        files = DatasetV1Adapter.from_tensor_slices(names)
        if shuffle is not None and not shuffle:
            return files
        return files.shuffle(maximum(shape(names, out_type=dtypes.int64)[0], 1), seed=seed)


def _matching(pattern: Any) -> Any:
    """Return the names of the files that match; at run time an error is raised if none does."""
    names = matching_files(pattern)
    is_any = greater(shape(names)[0], 0, name="match_not_empty")
    patterns = reduce_join(pattern, separator=", ")
    text = add("No files matched pattern: ", patterns, name="message")
    with control_dependencies([Assert(is_any, [text], summarize=1, name="assert_not_empty")]):
        return identity(names)


def _names_dataset(filenames: Any) -> Any:
    if isinstance(filenames, DatasetV2):
        if get_legacy_output_types(filenames) != dtypes.string:
            raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
        if not get_legacy_output_shapes(filenames).is_compatible_with(TensorShape([])):
            raise TypeError(
                "`filenames` must be a `tf.data.Dataset` of scalar `tf.string` elements."
            )
        return filenames
    filenames = convert_to_tensor(filenames, dtype=dtypes.string)
    filenames = reshape(filenames, [-1], name="flat_filenames")
    return DatasetV2.from_tensor_slices(filenames)


def _reader(creator: Callable[[Any], Any], filenames: Any, num_parallel_reads: Any) -> Any:
    def read_one_file(filename: Any) -> Any:
        return creator(convert_to_tensor(filename, dtypes.string, name="filename"))

    if num_parallel_reads is None:
        return filenames.flat_map(read_one_file)
    if isinstance(num_parallel_reads, int) and num_parallel_reads == AUTOTUNE:
        return filenames.interleave(read_one_file, num_parallel_calls=num_parallel_reads)
    return ParallelInterleaveDataset(
        filenames, read_one_file, cycle_length=num_parallel_reads, block_length=1, sloppy=False,
        buffer_output_elements=None, prefetch_input_elements=None,
    )  # fmt: skip


class ParallelInterleaveDataset(InterleaveDataset):
    """The elements of the datasets that a function gives, each read by a thread."""

    _name = "tf.data.experimental.parallel_interleave()"

    def __init__(
        self, input_dataset: Any, map_func: Any, cycle_length: Any, block_length: Any,
        sloppy: Any, buffer_output_elements: Any, prefetch_input_elements: Any,
    ) -> None:  # fmt: skip
        _Mapped.__init__(self, input_dataset, map_func)
        FlatMapDataset._check_dataset(self)
        lengths = self._cycle(cycle_length, block_length)
        self._sloppy = convert_to_tensor(sloppy, dtype=dtypes.bool, name="sloppy")
        self._buffer_output_elements = optional_param_to_tensor(
            "buffer_output_elements", buffer_output_elements, argument_default=2 * block_length
        )
        self._prefetch_input_elements = optional_param_to_tensor(
            "prefetch_input_elements", prefetch_input_elements,
            argument_default=2 * cycle_length,
        )  # fmt: skip
        self._finish(
            interleaving.parallel_interleave_dataset_op, *lengths, self._sloppy,
            self._buffer_output_elements, self._prefetch_input_elements,
        )  # fmt: skip


class _Strings(DatasetSource):
    """A dataset of strings."""

    @property
    def element_spec(self) -> TensorSpec:
        return TensorSpec([], dtypes.string)


def _kind(compression_type: Any) -> Tensor:
    return optional_param_to_tensor(
        "compression_type", compression_type, argument_default="", argument_dtype=dtypes.string
    )


def _size(buffer_size: Any) -> Tensor:
    return optional_param_to_tensor("buffer_size", buffer_size, argument_default=_BUFFER_SIZE)


class _OneFile(_Strings):
    """Content of one file."""

    _card: Card

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None
    ) -> None:
        self._filenames = filenames
        super().__init__(self._card(filenames, _kind(compression_type), _size(buffer_size)))


class _TextLineDataset(_OneFile):
    """The lines of one file."""

    _card = cards.text_line_dataset_op


class _TFRecordDataset(_OneFile):
    """The records of one TFRecord file."""

    _card = cards.tf_record_dataset_op


class _FixedLengthRecordDataset(_Strings):
    """The records of one file."""

    def __init__(
        self, filenames: Any, record_bytes: Any, header_bytes: Any = None,
        footer_bytes: Any = None, buffer_size: Any = None, compression_type: Any = None,
    ) -> None:  # fmt: skip
        self._filenames = filenames
        record = convert_to_tensor(record_bytes, dtype=dtypes.int64, name="record_bytes")
        header = optional_param_to_tensor("header_bytes", header_bytes)
        footer = optional_param_to_tensor("footer_bytes", footer_bytes)
        size = _size(buffer_size)
        super().__init__(
            cards.fixed_length_record_dataset_v2_op(
                filenames, header, record, footer, size, _kind(compression_type)
            )
        )


class _Files(_Strings):
    """Content of several files."""

    _filenames: Any
    _impl: Any

    def _inputs(self) -> list[Any]:
        inputs: list[Any] = self._impl._inputs()
        return inputs

    def _read(self, creator: Callable[[Any], Any], num_parallel_reads: Any) -> None:
        self._impl = _reader(creator, self._filenames, num_parallel_reads)
        DatasetV2.__init__(self, self._impl._variant_tensor)


@export("compat.v2.data.TextLineDataset")
class TextLineDatasetV2(_Files):
    """The lines of text files."""

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        self._filenames = _names_dataset(filenames)
        self._compression_type = compression_type
        self._buffer_size = buffer_size
        self._read(
            lambda name: _TextLineDataset(name, compression_type, buffer_size),
            num_parallel_reads,
        )

    def _inputs(self) -> list[Any]:
        return []


@export("compat.v2.data.TFRecordDataset")
class TFRecordDatasetV2(_Files):
    """The records of TFRecord files."""

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        self._filenames = _names_dataset(filenames)
        self._compression_type = compression_type
        self._buffer_size = buffer_size
        self._num_parallel_reads = num_parallel_reads
        self._read(
            lambda name: _TFRecordDataset(name, compression_type, buffer_size),
            num_parallel_reads,
        )


@export("compat.v2.data.FixedLengthRecordDataset")
class FixedLengthRecordDatasetV2(_Files):
    """Records of a fixed length of files."""

    def __init__(
        self, filenames: Any, record_bytes: Any, header_bytes: Any = None,
        footer_bytes: Any = None, buffer_size: Any = None, compression_type: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        self._filenames = _names_dataset(filenames)
        self._read(
            lambda name: _FixedLengthRecordDataset(
                name, record_bytes, header_bytes, footer_bytes, buffer_size, compression_type
            ),
            num_parallel_reads,
        )

    def _inputs(self) -> list[Any]:
        return []


class _Adapter(DatasetV1Adapter):
    """A dataset of files with the methods of TensorFlow 1."""

    @property
    def _filenames(self) -> Any:
        return self._dataset._filenames

    @_filenames.setter
    def _filenames(self, value: Any) -> None:
        self._dataset._filenames = value


@export("data.TextLineDataset")
class TextLineDatasetV1(_Adapter):
    """The lines of text files, without their ends.

    Args:
      filenames: a tensor or dataset of names.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: how many bytes are read at a time.
      num_parallel_reads: how many files are read at a time, one by default.

    Example:
      >>> with open("lines.txt", "w") as file: print("first line", file=file)
      >>> line = tf.data.TextLineDataset("lines.txt").make_one_shot_iterator().get_next()
      >>> tf.Session().run(line)
      b'first line'
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            TextLineDatasetV2(filenames, compression_type, buffer_size, num_parallel_reads)
        )


@export("data.TFRecordDataset")
class TFRecordDatasetV1(_Adapter):
    """The records of TFRecord files.

    Args:
      filenames: a tensor or dataset of names.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: how many bytes are read at a time.
      num_parallel_reads: how many files are read at a time, one by default.

    Example:
      >>> with tf.python_io.TFRecordWriter("data.tfrecord") as writer: writer.write(b"record")
      >>> record = tf.data.TFRecordDataset("data.tfrecord").make_one_shot_iterator().get_next()
      >>> tf.Session().run(record)
      b'record'
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            TFRecordDatasetV2(filenames, compression_type, buffer_size, num_parallel_reads)
        )

    def _clone(
        self, filenames: Any = None, compression_type: Any = None, buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> TFRecordDatasetV1:  # fmt: skip
        mine = self._dataset
        return TFRecordDatasetV1(
            filenames or mine._filenames, compression_type or mine._compression_type,
            buffer_size or mine._buffer_size, num_parallel_reads or mine._num_parallel_reads,
        )  # fmt: skip


@export("data.FixedLengthRecordDataset")
class FixedLengthRecordDatasetV1(_Adapter):
    """Records of a fixed length of binary files.

    Args:
      filenames: a tensor or dataset of names.
      record_bytes: how long a record is.
      header_bytes: how many bytes to leave out at the start of a file.
      footer_bytes: how many bytes to leave out at its end.
      buffer_size: how many bytes are read at a time.
      compression_type: "", "ZLIB" or "GZIP".
      num_parallel_reads: how many files are read at a time, one by default.
    """

    def __init__(
        self, filenames: Any, record_bytes: Any, header_bytes: Any = None,
        footer_bytes: Any = None, buffer_size: Any = None, compression_type: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            FixedLengthRecordDatasetV2(
                filenames, record_bytes, header_bytes, footer_bytes, buffer_size,
                compression_type, num_parallel_reads,
            )
        )  # fmt: skip


FixedLengthRecordDataset = FixedLengthRecordDatasetV1
TFRecordDataset = TFRecordDatasetV1
TextLineDataset = TextLineDatasetV1


dataset_module.list_files.provide(list_files)
