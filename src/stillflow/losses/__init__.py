"""`tf.losses`: losses with weights and reductions, collected by graph."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
