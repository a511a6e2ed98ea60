"""Writing datasets to files."""

from __future__ import annotations

from typing import Any

from stillflow.data.convert import optional_param_to_tensor
from stillflow.data.dataset import (
    DatasetV2,
    get_legacy_output_shapes,
    get_legacy_output_types,
    get_structure,
)
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.data.writers import dataset_to_tf_record_op


@export("data.experimental.TFRecordWriter", "contrib.data.TFRecordWriter")
class TFRecordWriter:
    """Writer of datasets of strings to a TFRecord file.

    Args:
      filename: of the file.
      compression_type: "", "ZLIB" or "GZIP".
    """

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = convert_to_tensor(filename, dtypes.string, name="filename")
        self._compression_type = optional_param_to_tensor(
            "compression_type", compression_type, argument_default="",
            argument_dtype=dtypes.string,
        )  # fmt: skip

    def write(self, dataset: Any) -> Operation:
        """Return the operation that writes a dataset.

        Args:
          dataset: a dataset of scalar strings.

        Raises:
          TypeError: if it is none.
        """
        if not isinstance(dataset, DatasetV2):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        spec = get_structure(dataset)
        if not isinstance(spec, TensorSpec) or not spec.is_compatible_with(
            TensorSpec([], dtypes.string)
        ):
            raise TypeError(
                "`dataset` must produce scalar `DT_STRING` tensors whereas it produces shape "
                f"{get_legacy_output_shapes(dataset)} and types {get_legacy_output_types(dataset)}"
            )
        return dataset_to_tf_record_op(
            dataset._variant_tensor, self._filename, self._compression_type
        )
