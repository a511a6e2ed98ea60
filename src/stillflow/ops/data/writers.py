"""DatasetToTFRecord: the elements of a dataset as the records of a file."""

from __future__ import annotations

from typing import Any

from stillflow.files.records import TFRecordWriter
from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.data.pipeline import Context, as_dataset, invalid, scalar

dataset_to_tf_record_op = op(
    "DatasetToTFRecord(input_dataset: variant, filename: string, compression_type: string)"
    "\nflags: stateful",
    effect="writes files",
    differentiable=False,
)


@dataset_to_tf_record_op.shape
def dataset_to_tf_record_shape(node: Node) -> OutputDims:
    for place in range(3):
        dims.with_rank(node.dims(place), 0)
    return []


@dataset_to_tf_record_op.kernel
def dataset_to_tf_record_kernel(node: Any) -> Kernel:
    waits = node.waits()

    def run(value: Any, filename: Any, compression_type: Any) -> None:
        kind = scalar(compression_type).decode()
        if kind not in ("", "ZLIB", "GZIP"):
            raise invalid(f"Unsupported compression_type:{kind}")
        context = Context(waits)
        types = as_dataset(value).types
        if list(types) != [dtypes.string]:
            listed = ", ".join(map(dtypes.cpp_name, types))
            raise invalid(f"Only elements of one string are written, not of {listed}")
        try:
            with TFRecordWriter(scalar(filename).decode(), kind) as writer:
                for (record,) in as_dataset(value).iterate(context, "ToTFRecordOpIterator"):
                    waits.check()
                    writer.write(record.item())
        finally:
            context.close()

    return run
