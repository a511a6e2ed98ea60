"""`tf.contrib.slim`: the layers, variables and scopes of `tf.contrib`, training and evaluation."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
