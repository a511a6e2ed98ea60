"""`tf.contrib.text`: words with the words around them."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
