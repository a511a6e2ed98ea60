"""`tf.contrib.session_bundle`: how models were exported before there was the SavedModel."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
