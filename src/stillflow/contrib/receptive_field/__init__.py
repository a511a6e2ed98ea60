"""`tf.contrib.receptive_field`: which part of an image an output of a network sees."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
