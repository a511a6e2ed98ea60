"""The functions of `tf.compat.v2.io` whose arguments differ from those of `tf.io`."""

from __future__ import annotations

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.ops.io.parsing import csv
from stillflow.ops.io.parsing import functions as parsing
from stillflow.ops.sparse import serialization
from stillflow.util.newer_arguments import handed_on

decode_csv = export("compat.v2.io.decode_csv")(
    handed_on(
        'records, record_defaults, field_delim=",", use_quote_delim=True, na_value="", '
        "select_cols=None, name=None",
        csv,
        "decode_csv",
    )
)


parse_example = export("compat.v2.io.parse_example")(
    handed_on("serialized, features, example_names=None, name=None", parsing, "parse_example")
)


parse_single_example = export("compat.v2.io.parse_single_example")(
    handed_on(
        "serialized, features, example_names=None, name=None", parsing, "parse_single_example"
    )
)


serialize_sparse = export("compat.v2.io.serialize_sparse")(
    handed_on(
        "sp_input, out_type=..., name=None",
        serialization,
        "serialize_sparse",
        out_type=dtypes.string,
    )
)


serialize_many_sparse = export("compat.v2.io.serialize_many_sparse")(
    handed_on(
        "sp_input, out_type=..., name=None",
        serialization,
        "serialize_many_sparse",
        out_type=dtypes.string,
    )
)
