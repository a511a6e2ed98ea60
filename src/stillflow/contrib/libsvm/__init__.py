"""`tf.contrib.libsvm`: files of LibSVM."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
