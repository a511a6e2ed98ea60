"""`tf.contrib.tensor_forest`: random forests that grow while examples come."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
