"""`tf.contrib.image`: images turned, moved and warped, components, matching, stereograms."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
