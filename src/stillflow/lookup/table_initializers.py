"""Sources of a table's entries: two tensors, or a text file."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import add_to_collection, device, init_scope, name_scope
from stillflow.graph.conversion import convert_to_tensor, register_tensor_conversion_function
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.lookup.operations import (
    initialize_table_from_text_file_v2_op,
    lookup_table_import_v2_op,
)
from stillflow.train.tracking.base import Trackable


def in_control_flow() -> bool:
    """Return True if the current place is inside a loop or a branch."""
    return get_default_graph()._get_control_flow_context() is not None


@export("contrib.lookup.TableInitializerBase")
class TableInitializerBase(Trackable):
    """Initializer of a table.

    Args:
      key_dtype, value_dtype: types of keys and values.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The type of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of values."""
        return self._value_dtype

    def initialize(self, table: Any) -> Any:
        """Return the operation that fills `table`."""
        raise NotImplementedError

    @property
    def _shared_name(self) -> str:
        return ""

    def _check(self, table: Any, key_dtype: DType, value_dtype: DType) -> None:
        for what, ours, theirs in (
            ("key", key_dtype, table.key_dtype), ("value", value_dtype, table.value_dtype)
        ):  # fmt: skip
            if ours.base_dtype != theirs:
                raise TypeError(f"Invalid {what} dtype, expected {theirs} but got {ours}.")


@export("lookup.KeyValueTensorInitializer", "contrib.lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializerBase):
    """Entries from two vectors.

    Args:
      keys, values: vectors of the same length.
      key_dtype, value_dtype: their types.
      name: a name scope.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if in_control_flow():
            with init_scope():
                self._convert(keys, values, key_dtype, value_dtype)
        else:
            self._convert(keys, values, key_dtype, value_dtype)
        self._name = name if name is not None else "key_value_init"
        super().__init__(self._keys.dtype, self._values.dtype)

    def _convert(self, keys: Any, values: Any, key_dtype: Any, value_dtype: Any) -> None:
        self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
        self._values = convert_to_tensor(values, dtype=value_dtype, name="values")

    def initialize(self, table: Any) -> Operation:
        """Return the operation that fills `table`.

        Raises:
          TypeError: if types differ.
        """
        self._check(table, self._keys.dtype, self._values.dtype)
        with name_scope(self._name, values=(table.resource_handle, self._keys, self._values)):
            init_op = lookup_table_import_v2_op(table.resource_handle, self._keys, self._values)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, init_op)
        return init_op


@export("lookup.TextFileIndex", "contrib.lookup.TextFileIndex")
class TextFileIndex:
    """Constants that mean a whole line, or its number, instead of a column's index."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TrackableAsset(Trackable):
    """A file that belongs to a model.

    Args:
      path: its name, a string or a string tensor.
    """

    def __init__(self, path: Any) -> None:
        with init_scope(), device("CPU"):
            self._path = convert_to_tensor(path, dtype=dtypes.string, name="asset_path")

    @property
    def asset_path(self) -> Tensor:
        """Its name."""
        return self._path


def _path_of(
    asset: TrackableAsset, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    return convert_to_tensor(asset.asset_path, dtype=dtype, name=name, as_ref=as_ref)


register_tensor_conversion_function(TrackableAsset, _path_of)


def _check_columns(key_dtype: DType, key_index: int, value_dtype: DType, value_index: int) -> None:
    string, number = dtypes.string, f"dtype {dtypes.int64}"
    columns = (
        ("key", key_dtype, key_index, key_dtype.is_integer, "integer or string"),
        ("value", value_dtype, value_index, False, f"dtype {string}"),
    )
    for role, dtype, index, is_word, words in columns:
        if index < TextFileIndex.WHOLE_LINE:
            raise ValueError(f"Invalid {role} index {index}.")
        fits, wanted = True, words
        if index == TextFileIndex.LINE_NUMBER:
            fits, wanted = dtype == dtypes.int64, number
        elif index == TextFileIndex.WHOLE_LINE:
            fits = is_word or dtype == string
        if not fits:
            raise ValueError(f"Signature mismatch. {role.title()}s must be {wanted}, got {dtype}.")


@export("lookup.TextFileInitializer", "contrib.lookup.TextFileInitializer")
class TextFileInitializer(TableInitializerBase):
    """Entries from the lines of a text file.

    Args:
      filename: its name, a string or a string tensor.
      key_dtype, value_dtype: types.
      key_index, value_index: which column of a line, or one of `TextFileIndex`.
      vocab_size: the number of lines, if it is known.
      delimiter: the delimiter of columns.
      name: a name scope.

    Raises:
      ValueError: for arguments that do not go together.
    """

    def __init__(
        self, filename: Any, key_dtype: Any, key_index: int, value_dtype: Any, value_index: int,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError(f"Filename required for {name}.")
        self._filename_arg = filename
        key_dtype, value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        _check_columns(key_dtype, key_index, value_dtype, value_index)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter, self._name = vocab_size, delimiter, name
        self._filename = self._track_trackable(TrackableAsset(filename), "_filename")
        super().__init__(key_dtype, value_dtype)

    def initialize(self, table: Any) -> Operation:
        """Return the operation that fills `table`.

        Raises:
          TypeError: if types differ.
        """
        self._check(table, self.key_dtype, self.value_dtype)
        with name_scope(self._name, "text_file_init", (table.resource_handle,)):
            filename = convert_to_tensor(self._filename, dtypes.string, name="asset_filepath")
            init_op = initialize_table_from_text_file_v2_op(
                table.resource_handle, filename, key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
            )  # fmt: skip
        if filename.holds_value:
            return init_op
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, init_op)
        if filename.op.type == "Const":
            add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return init_op

    @property
    def _shared_name(self) -> str:
        size = f"_{self._vocab_size}" if self._vocab_size else ""
        return f"hash_table_{self._filename_arg}{size}_{self._key_index}_{self._value_index}"


@export("contrib.lookup.TextFileStringTableInitializer")
class TextFileStringTableInitializer(TextFileInitializer):
    """Strings by ids, from a text file; arguments are those of `TextFileInitializer`."""

    def __init__(
        self, filename: Any, key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE, vocab_size: int | None = None,
        delimiter: str = "\t", name: str | None = "text_file_string_table_init",
    ) -> None:  # fmt: skip
        super().__init__(
            filename, dtypes.int64, key_column_index, dtypes.string, value_column_index,
            vocab_size=vocab_size, delimiter=delimiter, name=name,
        )  # fmt: skip


@export("contrib.lookup.TextFileIdTableInitializer")
class TextFileIdTableInitializer(TextFileInitializer):
    """Ids by strings or integers, from a text file; arguments as of `TextFileInitializer`."""

    def __init__(
        self, filename: Any, key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER, vocab_size: int | None = None,
        delimiter: str = "\t", name: str | None = "text_file_id_table_init",
        key_dtype: Any = dtypes.string,
    ) -> None:  # fmt: skip
        super().__init__(
            filename, key_dtype, key_column_index, dtypes.int64, value_column_index,
            vocab_size=vocab_size, delimiter=delimiter, name=name,
        )  # fmt: skip
