"""The variables of columns of vectors, and lookups in them."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.variables import model_variable
from stillflow.contrib.layers.core import inner_flatten
from stillflow.graph.operation import Tensor
from stillflow.variables.partitioned import PartitionedVariable
from stillflow_contrib.layers.embedding_lookups import safe_embedding_lookup_sparse
from stillflow_contrib.layers.scattered_embeddings import scattered_embedding_lookup_sparse


def parts_of(variable: Any) -> list[Any]:
    """Return the parts of a variable."""
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def restore(checkpoint_path: Any, parts: list[Any]) -> None:
    """Make a variable's parts start with a value from (checkpoint, name), if that is not None."""
    if checkpoint_path is not None:
        checkpoint, name = checkpoint_path
        variable = parts[0] if len(parts) == 1 else parts
        tf.contrib.framework.init_from_checkpoint(checkpoint, {name: variable})


def embed(
    column: Any, args: Any, weight_collections: Any, trainable: Any, output_rank: int = 2
) -> Tensor:
    """Return vectors for a column, [batch, dimension], or with steps if `output_rank` is 3.

    ValueError if columns that share a variable need another shape of it.
    """
    ids = inner_flatten(args.input_tensor, output_rank)
    weights = args.weight_tensor
    if weights is not None:
        weights = inner_flatten(weights, output_rank)
    made = {
        "dtype": tf.float32,
        "initializer": args.initializer,
        "trainable": trainable and args.trainable,
        "collections": weight_collections,
    }
    if args.hash_key:
        pool = model_variable(name="weights", shape=[args.vocab_size], **made)
        return scattered_embedding_lookup_sparse(
            pool, ids, args.dimension, hash_key=args.hash_key, combiner=args.combiner,
            name="lookup",
        )  # fmt: skip
    shape = [args.vocab_size, args.dimension]
    if args.shared_embedding_name is None:
        embeddings = model_variable(name="weights", shape=shape, **made)
    else:
        embeddings = _shared(args.shared_embedding_name, shape, made)
    parts = parts_of(embeddings)
    restore(column._checkpoint_path(), parts)
    return safe_embedding_lookup_sparse(
        parts, ids, sparse_weights=weights, combiner=args.combiner,
        name=f"{column.name}weights", max_norm=args.max_norm,
    )  # fmt: skip


def _shared(name: str, shape: list[int], made: dict[str, Any]) -> PartitionedVariable:
    """Return the variable that columns share; the graph keeps it in a collection of its own."""
    collection = f"SHARED_EMBEDDING_COLLECTION_{name.upper()}"
    kept = tf.get_collection_ref(collection)
    if not kept:
        embeddings = model_variable(name=name, shape=shape, **made)
        tf.add_to_collection(collection, embeddings)
        return embeddings
    if len(kept) > 1:
        raise ValueError(f"Collection {collection} can only contain one (partitioned) variable.")
    if kept[0].get_shape() != shape:
        raise ValueError(
            f"The embedding variable with name {name} already exists, but its shape does not match "
            "required embedding shape here. Please make sure to use different "
            "shared_embedding_name for different shared embeddings."
        )
    return kept[0]
