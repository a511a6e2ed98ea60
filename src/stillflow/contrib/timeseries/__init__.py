"""`tf.contrib.timeseries`: models of series in time, and estimators of them."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
