"""`tf.contrib.grid_rnn`: recurrent cells in several dimensions."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
