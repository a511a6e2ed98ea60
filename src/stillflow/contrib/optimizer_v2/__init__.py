"""`tf.contrib.optimizer_v2`: optimizers whose hyperparameters and slots each graph has its own."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
