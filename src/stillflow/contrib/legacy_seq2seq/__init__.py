"""`tf.contrib.legacy_seq2seq`: models from sequences to sequences, unrolled over time."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
