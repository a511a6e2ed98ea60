"""`tf.contrib.framework`: scopes of arguments, variables and checkpoints, checks of tensors."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
