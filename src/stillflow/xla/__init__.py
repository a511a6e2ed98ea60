"""`tf.xla.experimental`: marks on what is to be compiled together."""

from __future__ import annotations
