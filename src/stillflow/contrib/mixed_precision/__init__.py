"""`tf.contrib.mixed_precision`: losses scaled so that gradients of half precision do not vanish."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
