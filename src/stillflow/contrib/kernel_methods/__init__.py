"""`tf.contrib.kernel_methods`: linear models of features that approximate a kernel."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
