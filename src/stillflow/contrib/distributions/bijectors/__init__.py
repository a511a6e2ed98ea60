"""`tf.contrib.distributions.bijectors`: invertible transformations of random values."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
