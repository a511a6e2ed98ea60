"""`tf.contrib.cloud`: Google's storage, of which programs say how it is to be used."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
