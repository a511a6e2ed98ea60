"""`tf.contrib.tpu`, as far as programs that can also do without such a device need it."""

from __future__ import annotations
