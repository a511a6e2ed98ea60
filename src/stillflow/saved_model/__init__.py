"""`tf.saved_model`: graphs with variables, assets and signatures in a directory."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
