"""`tf.contrib.opt`: more optimizers, and wrappers of optimizers."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
