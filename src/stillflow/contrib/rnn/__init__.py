"""`tf.contrib.rnn`: more cells of recurrent networks, and wrappers of cells."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
