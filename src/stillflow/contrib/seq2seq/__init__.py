"""`tf.contrib.seq2seq`: attention, decoders and losses of models from sequences to sequences."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
