"""`tf.contrib.cudnn_rnn`: cells that compute what cuDNN's recurrent networks compute."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
