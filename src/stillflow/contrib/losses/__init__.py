"""`tf.contrib.losses`: losses with predictions before labels, as programs of 2016 call them."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
