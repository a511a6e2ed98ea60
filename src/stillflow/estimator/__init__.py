"""`tf.estimator`: a model function, and all that trains, evaluates, serves it."""

from __future__ import annotations
