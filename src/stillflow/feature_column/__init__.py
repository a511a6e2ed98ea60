"""`tf.feature_column`: from raw features to the tensors that models take."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
