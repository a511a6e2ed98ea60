"""`tf.xla.experimental`: marks on operations to be compiled together."""

from __future__ import annotations
