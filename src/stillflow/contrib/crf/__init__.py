"""`tf.contrib.crf`: conditional random fields over sequences."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
