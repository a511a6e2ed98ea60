"""`tf.contrib.framework`: checks of tensors, and names of what lives elsewhere by now."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
