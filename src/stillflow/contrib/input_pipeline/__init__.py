"""`tf.contrib.input_pipeline`: the names of files one after the other."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
