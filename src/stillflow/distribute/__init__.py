"""`tf.distribute`: strategies that say on which devices a program's replicas run."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
