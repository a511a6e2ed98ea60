"""Datasets of comma-separated values: `CsvDataset`, `make_csv_dataset`."""

from __future__ import annotations

import csv
import functools
import gzip
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stillflow.data.convert import optional_param_to_tensor
from stillflow.data.dataset import DatasetSource
from stillflow.data.dataset_v1 import DatasetV1, DatasetV1Adapter
from stillflow.data.experimental import ignore_errors as without_errors
from stillflow.data.mapping import MapDataset
from stillflow.data.options import AUTOTUNE
from stillflow.data.record_files import maybe_shuffle_and_repeat, read_files
from stillflow.files import file_io, gfile
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_n_to_tensor, convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_like import is_tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.constants import constant
from stillflow.ops.data.csv import csv_dataset_op

_BUFFER_SIZE = 4 * 1024 * 1024
_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)


def _defaults(record_defaults: Sequence[Any]) -> list[Any]:
    """Defaults of columns; no value for a column of which only the type is given."""
    return [
        constant([], dtype=one) if not is_tensor(one) and one in _TYPES else one
        for one in record_defaults
    ]


@export("compat.v2.data.experimental.CsvDataset")
class CsvDatasetV2(DatasetSource):
    """The records of files of comma-separated values."""

    def __init__(
        self, filenames: Any, record_defaults: Any, compression_type: Any = None,
        buffer_size: Any = None, header: Any = False, field_delim: Any = ",",
        use_quote_delim: Any = True, na_value: Any = "", select_cols: Any = None,
    ) -> None:  # fmt: skip
        """Make a dataset with a tuple of scalars for each record.

        Args:
          filenames: a string tensor.
          record_defaults: for each column a type, where a value is required, or a default.
          compression_type: "", "ZLIB" or "GZIP".
          buffer_size: how many bytes to read at a time.
          header: whether the first line of each file is left out.
          field_delim: what separates fields, one character.
          use_quote_delim: whether quotes hold fields together.
          na_value: text of a missing value; empty text is one too.
          select_cols: numbers of the columns that are wanted, in order; all by default.
        """
        filenames = convert_to_tensor(filenames, dtype=dtypes.string, name="filenames")
        kind = optional_param_to_tensor(
            "compression_type", compression_type, argument_default="",
            argument_dtype=dtypes.string,
        )  # fmt: skip
        defaults = convert_n_to_tensor(_defaults(record_defaults), name="record_defaults")
        size = optional_param_to_tensor("buffer_size", buffer_size, _BUFFER_SIZE)
        skips = convert_to_tensor(header, dtype=dtypes.bool, name="header")
        delimiter = convert_to_tensor(field_delim, dtype=dtypes.string, name="field_delim")
        quotes = convert_to_tensor(use_quote_delim, dtype=dtypes.bool, name="use_quote_delim")
        missing = convert_to_tensor(na_value, dtype=dtypes.string, name="na_value")
        columns = optional_param_to_tensor(
            "select_cols", select_cols, argument_default=[], argument_dtype=dtypes.int64
        )
        self._element_spec = tuple(TensorSpec([], default.dtype) for default in defaults)
        super().__init__(
            csv_dataset_op(
                filenames, kind, size, skips, delimiter, quotes, missing, columns, defaults,
                output_shapes=self._flat_shapes,
            )
        )  # fmt: skip

    @property
    def element_spec(self) -> tuple[TensorSpec, ...]:
        return self._element_spec


@export("data.experimental.CsvDataset", "contrib.data.CsvDataset")
class CsvDatasetV1(DatasetV1Adapter):
    """The records of files of comma-separated values."""

    @functools.wraps(CsvDatasetV2.__init__)  # type: ignore[misc]
    def __init__(
        self, filenames: Any, record_defaults: Any, compression_type: Any = None,
        buffer_size: Any = None, header: Any = False, field_delim: Any = ",",
        use_quote_delim: Any = True, na_value: Any = "", select_cols: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            CsvDatasetV2(
                filenames, record_defaults, compression_type, buffer_size, header, field_delim,
                use_quote_delim, na_value, select_cols,
            )
        )  # fmt: skip


CsvDataset = CsvDatasetV1


# ---- columns of a file


def _fits(dtype: Any) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            value = dtype.as_numpy_dtype(text)
        except (ValueError, OverflowError):
            return False
        return bool(not dtype.is_floating or value < np.inf)

    return fits


_NARROWEST_FIRST = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def _type_of(text: str, na_value: str, before: Any) -> DType:
    """Return the narrowest type of a text and the earlier ones of its column."""
    if text in ("", na_value):
        return before
    first = 0 if before is None else _TYPE_ORDER.index(before)
    for dtype in _NARROWEST_FIRST[first:]:
        if _fits(dtype)(text):
            return dtype
    return dtypes.string


_TYPE_ORDER = (*_NARROWEST_FIRST, dtypes.string)


class _Probe:
    """Reader of the first lines of files, which determine their columns."""

    def __init__(
        self, filenames: list[str], field_delim: str, use_quote_delim: bool, open_text: Any
    ) -> None:
        self.filenames = filenames
        self.open_text = open_text
        self.format: dict[str, Any] = {
            "delimiter": field_delim,
            "quoting": csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE,
        }

    def _header(self, name: str) -> list[str]:
        with self.open_text(name) as file:
            try:
                return next(csv.reader(file, **self.format))
            except StopIteration:
                raise ValueError(
                    f"Received StopIteration when reading the header line of {name}.  Empty file?"
                ) from None

    def names(self) -> list[str]:
        """Return the names of the columns: the first line of all files."""
        first = self._header(self.filenames[0])
        if any(self._header(name) != first for name in self.filenames[1:]):
            raise ValueError("Files have different column names in the header row.")
        return first

    def _rows(self, header: bool, count: int) -> Iterator[list[str]]:
        for name in self.filenames:
            with self.open_text(name) as file:
                rows = csv.reader(file, **self.format)
                if header:
                    next(rows)
                for row in rows:
                    if len(row) != count:
                        raise ValueError(
                            "Problem inferring types: CSV row has different number of fields than "
                            "expected."
                        )
                    yield row

    def defaults(
        self, header: bool, count: int, na_value: str, limit: int | None, columns: Any
    ) -> list[Any]:
        """Return a default of the right type for each of some columns."""
        columns = range(count) if columns is None else columns
        types: list[Any] = [None] * len(columns)
        for number, row in enumerate(self._rows(header, count)):
            if limit is not None and number >= limit:
                break
            types = [
                _type_of(row[column], na_value, before)
                for column, before in zip(columns, types, strict=True)
            ]
        return [
            constant(["" if dtype in (None, dtypes.string) else 0], dtype=dtype or dtypes.string)
            for dtype in types
        ]


def _text_opener(compression_type: Any) -> Callable[..., Any]:
    if compression_type is None:
        return lambda name: file_io.FileIO(name, "r")
    kind = static_value(convert_to_tensor(compression_type))
    if kind is None:
        raise ValueError("Received unkown compression_type")
    text = kind.item().decode() if hasattr(kind, "item") else str(kind)
    if text == "GZIP":
        return lambda name: gzip.open(name, "rt")
    if text == "ZLIB":
        raise ValueError(
            f"compression_type ({compression_type}) is not supported for probing columns"
        )
    if text:
        raise ValueError(f"compression_type ({compression_type}) is not supported")
    return lambda name: file_io.FileIO(name, "r")


def _numbers(select_columns: Sequence[Any], column_names: Sequence[str]) -> list[int]:
    """Numbers of columns in order, given by numbers or names."""
    found = []
    for column in select_columns:
        if isinstance(column, int):
            if not 0 <= column < len(column_names):
                raise ValueError(
                    f"Column index {column} specified in select_columns out of valid range."
                )
            found.append(column)
        elif column in column_names:
            found.append(list(column_names).index(column))
        else:
            raise ValueError(
                f"Value '{column}' specified in select_columns not a valid column index or name."
            )
    if len(set(found)) != len(found):
        raise ValueError("select_columns contains duplicate columns")
    return sorted(found)


def _file_names(file_pattern: Any) -> list[str]:
    if isinstance(file_pattern, list):
        if not file_pattern:
            raise ValueError("File pattern is empty.")
        names = [name for pattern in file_pattern for name in gfile.get_matching_files(pattern)]
    else:
        names = list(gfile.get_matching_files(file_pattern))
    if not names:
        raise ValueError(f"No files match {file_pattern}.")
    return sorted(names)


@export("data.experimental.make_csv_dataset")
def make_csv_dataset(
    file_pattern: Any, batch_size: Any, column_names: Any = None, column_defaults: Any = None,
    label_name: Any = None, select_columns: Any = None, field_delim: Any = ",",
    use_quote_delim: Any = True, na_value: Any = "", header: Any = True, num_epochs: Any = None,
    shuffle: Any = True, shuffle_buffer_size: Any = 10000, shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None, num_parallel_reads: Any = None, sloppy: Any = False,
    num_rows_for_inference: Any = 100, compression_type: Any = None, ignore_errors: Any = False,
) -> DatasetV1Adapter:  # fmt: skip
    """Batches of records of files of comma-separated values: a dict of columns by name.

    Args:
      file_pattern: a pattern or a list of patterns.
      batch_size: how many records a batch has.
      column_names: of all columns, by default those in the first line of the files.
      column_defaults: for each wanted column a type or a default; else found out from the files.
      label_name: the column that is returned next to the dict.
      select_columns: numbers or names of the columns that are wanted; all by default.
      field_delim, use_quote_delim, na_value, compression_type: see `CsvDataset`.
      header: whether the first line of each file names the columns.
      num_epochs: how many times files are read; for ever by default.
      shuffle, shuffle_buffer_size, shuffle_seed: whether and how records are shuffled.
      prefetch_buffer_size: how many batches are made ahead.
      num_parallel_reads: how many files are read at a time.
      sloppy: whether the order may depend on who is faster.
      num_rows_for_inference: from how many records types are found out; None for all.
      ignore_errors: whether records that cannot be read are left out.

    Raises:
      ValueError: if an argument contradicts the files or another one.
    """
    filenames = _file_names(file_pattern)
    dataset = DatasetV1.from_tensor_slices(filenames)
    if shuffle:
        dataset = dataset.shuffle(len(filenames), shuffle_seed)
    probe: Any = None
    if column_names is None or column_defaults is None:
        opener = _text_opener(compression_type)
        probe = _Probe(filenames, field_delim, use_quote_delim, opener)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = probe.names()
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    if select_columns is not None:
        select_columns = _numbers(select_columns, column_names)
    if column_defaults is None:
        column_defaults = probe.defaults(
            header, len(column_names), na_value, num_rows_for_inference, select_columns
        )
    else:
        column_defaults = _defaults(column_defaults)
    if select_columns is not None:
        if len(column_defaults) != len(select_columns):
            raise ValueError(
                "If specified, column_defaults and select_columns must have same length."
            )
        column_names = [column_names[number] for number in select_columns]
    if label_name is not None and label_name not in column_names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def filename_to_dataset(filename: Any) -> Any:
        made = CsvDataset(
            filename, record_defaults=column_defaults, field_delim=field_delim,
            use_quote_delim=use_quote_delim, na_value=na_value, select_cols=select_columns,
            header=header, compression_type=compression_type,
        )  # fmt: skip
        return made.apply(without_errors()) if ignore_errors else made

    reads = 1 if num_parallel_reads is None else num_parallel_reads
    dataset = read_files(dataset, filename_to_dataset, reads, sloppy)
    dataset = maybe_shuffle_and_repeat(
        dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed
    )
    dataset = dataset.batch(batch_size=batch_size, drop_remainder=num_epochs is None)
    dataset = MapDataset(
        dataset, _by_name(column_names, label_name), use_inter_op_parallelism=False
    )
    size = AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size
    return DatasetV1Adapter(dataset.prefetch(size))


def _by_name(column_names: Any, label_name: Any) -> Callable[..., Any]:
    def map_fn(*columns: Any) -> Any:
        features = OrderedDict(zip(column_names, columns, strict=True))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    return map_fn
