"""`tf.contrib.batching`: runs that go on at the same time, computed together."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
