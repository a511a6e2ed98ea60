"""`tf.train.experimental`: loss scales for training in half precision."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
