"""Embeddings of ids and of sequences of ids."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.variables import model_variable
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.layers.embedding_lookups import safe_embedding_lookup_sparse
from stillflow_contrib.layers.sparse_conversion import dense_to_sparse_tensor


@export("contrib.layers.embedding_lookup_unique", "contrib.slim.embedding_lookup_unique")
def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> Tensor:
    """`tf.nn.embedding_lookup` that looks each id up once.

    Args:
      params: a tensor or a list of them.
      ids: ids of any rank.
      partition_strategy: "mod" or "div".
      name: a name scope.
    """
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        shape = tf.shape(ids)
        flat = tf.reshape(ids, tf.reduce_prod(shape, keepdims=True))
        unique, places = tf.unique(flat)
        embeddings = tf.nn.embedding_lookup(params, unique, partition_strategy)
        rows = tf.gather(embeddings, places)
        embedded = tf.reshape(rows, tf.concat([shape, tf.shape(embeddings)[1:]], 0))
        embedded.set_shape(ids.get_shape().concatenate(embeddings.get_shape()[1:]))
        return embedded


@export("contrib.layers.embed_sequence", "contrib.slim.embed_sequence")
def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Embeds sequences of ids with a variable `embeddings`.

    Args:
      ids: [batch, length], integers.
      vocab_size, embed_dim: the variable's shape.
      unique: whether to look each id up once.
      initializer, regularizer, trainable: of the variable.
      scope: the variable scope.
      reuse: whether to use the variable of a layer of this scope.

    Returns:
      [batch, length, embed_dim].

    Raises:
      ValueError: if the shape of a new variable is not given.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        known = embed_dim is not None and not (reuse and vocab_size is None)
        embeddings = model_variable(
            "embeddings", shape=[vocab_size, embed_dim] if known else None,
            initializer=initializer, regularizer=regularizer, trainable=trainable,
        )  # fmt: skip
        if unique:
            return embedding_lookup_unique(embeddings, ids)
        return tf.nn.embedding_lookup(embeddings, ids)


@export("contrib.layers.bow_encoder")
def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Return the mean of each row's embeddings: a bag of words.

    Args:
      ids: [batch, length], integers, or a SparseTensor of them.
      vocab_size, embed_dim: the shape of the variable `embeddings`.
      sparse_lookup: whether ids of zero are left out.
      initializer, regularizer, trainable: of the variable.
      scope: the variable scope.
      reuse: whether to use the variable of a layer of this scope.

    Returns:
      [batch, embed_dim].

    Raises:
      TypeError: for sparse ids, if the lookup is dense.
    """
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings", shape=[vocab_size, embed_dim], initializer=initializer,
            regularizer=regularizer, trainable=trainable,
        )  # fmt: skip
        sparse = isinstance(ids, tf.SparseTensor)
        if sparse_lookup:
            ids = ids if sparse else dense_to_sparse_tensor(ids)
            return safe_embedding_lookup_sparse([embeddings], ids, combiner="mean", default_id=0)
        if sparse:
            raise TypeError("ids are expected to be dense Tensor, got: %s", ids)
        return tf.reduce_mean(tf.nn.embedding_lookup(embeddings, ids), axis=1)
