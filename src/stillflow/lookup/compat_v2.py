"""Tables of `tf.compat.v2.lookup` under names that `tf.lookup` has for TensorFlow 1's."""

from __future__ import annotations

from stillflow.graph.export import export_value
from stillflow.lookup.hash_buckets import StaticVocabularyTable
from stillflow.lookup.static_tables import StaticHashTable

export_value("compat.v2.lookup.StaticHashTable", StaticHashTable)
export_value("compat.v2.lookup.StaticVocabularyTable", StaticVocabularyTable)
