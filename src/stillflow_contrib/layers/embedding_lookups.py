"""Lookups of embeddings under the names that `tf.contrib.layers` has for them."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.embedding import as_list
from stillflow.platform import tf_logging as logging


def combiner_or_mean(combiner: str | None) -> str:
    """Return the combiner; "mean" and a warning where none is given."""
    if combiner is not None:
        return combiner
    logging.warn(
        'The default value of combiner will change from "mean" to "sqrtn" after 2016/11/01.'
    )
    return "mean"


@export("contrib.layers.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = None,
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
) -> Tensor:
    """`tf.nn.safe_embedding_lookup_sparse`, which reads variables once.

    Args:
      embedding_weights: the table, or a list of its parts.
      sparse_ids: SparseTensor of ids of any rank; negative ids are left out.
      sparse_weights: SparseTensor of weights; ids whose weight is not positive are left out.
      combiner: "mean", "sum" or "sqrtn".
      default_id: the id of empty rows; by default these give zeros.
      name: a name scope.
      partition_strategy: which rows are in which part: "div" or "mod".
      max_norm: longer vectors are cut down to this length.

    Raises:
      ValueError: if there is no table.
    """
    combiner = combiner_or_mean(combiner)
    if embedding_weights is None:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    tables = as_list(embedding_weights)
    if not tables:
        raise ValueError(f"Missing embedding_weights {tables}.")
    dtype = None if sparse_weights is None else sparse_weights.dtype
    tables = [tf.convert_to_tensor(table, dtype=dtype) for table in tables]
    tf.contrib.framework.assert_same_float_dtype([*tables, sparse_weights])
    return tf.nn.safe_embedding_lookup_sparse(
        tables, sparse_ids, sparse_weights, combiner, default_id, name, partition_strategy,
        max_norm,
    )  # fmt: skip
