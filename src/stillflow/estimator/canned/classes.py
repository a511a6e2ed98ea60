"""Classes as predictions and as outputs to serve."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.lookup.vocabularies import (
    index_table_from_tensor,
    index_to_string_table_from_tensor,
)
from stillflow.ops.arrays.sequences import range as tf_range
from stillflow.ops.arrays.shape import expand_dims, shape
from stillflow.ops.arrays.tile import tile
from stillflow.ops.strings.numbers import as_string
from stillflow.saved_model.export_outputs import ClassificationOutput


def ids_of_words(words: Any, vocabulary: Any) -> Tensor:
    """Return the ids of words: their places in the vocabulary."""
    return index_table_from_tensor(tuple(vocabulary), name="class_id_lookup").lookup(words)


def ids_of_labels(labels: Any, vocabulary: Any) -> Tensor:
    """Return the ids of labels: words if there is a vocabulary, ids if there is none."""
    if vocabulary is None:
        if not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        return labels
    if labels.dtype != dtypes.string:
        raise ValueError(
            f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}"
        )
    return ids_of_words(labels, vocabulary)


def words_of_ids(ids: Any, vocabulary: Any) -> Any:
    """Return the words of ids; the numbers as strings if there is no vocabulary."""
    if not vocabulary:
        return as_string(ids, name="str_classes")
    return index_to_string_table_from_tensor(vocabulary, name="class_string_lookup").lookup(ids)


def all_class_ids(logits: Any, n_classes: int) -> Tensor:
    """[batch, n_classes]: for each example the ids of all classes."""
    batch_size = shape(logits)[0]
    return _for_each_example(tf_range(n_classes), batch_size)


def all_classes(logits: Any, n_classes: int, vocabulary: Any = None) -> Tensor:
    """[batch, n_classes]: for each example the words of all classes."""
    batch_size = shape(logits)[0]
    return _for_each_example(vocabulary or as_string(tf_range(n_classes)), batch_size)


def _for_each_example(row: Any, batch_size: Any) -> Tensor:
    return tile(expand_dims(row, axis=0), multiples=[batch_size, 1])


def classification_output(
    scores: Any, n_classes: int, vocabulary: Any = None
) -> ClassificationOutput:
    """Return the output of a classifier: scores [batch, n_classes] and the classes they are of."""
    return ClassificationOutput(scores, all_classes(scores, n_classes, vocabulary))
