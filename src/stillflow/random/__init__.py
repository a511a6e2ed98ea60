"""`tf.random`: draws of generators that keep their state in variables."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
