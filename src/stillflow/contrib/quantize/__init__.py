"""`tf.contrib.quantize`: graphs rewritten so that training knows of the rounding to come."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
