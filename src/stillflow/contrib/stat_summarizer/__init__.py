"""`tf.contrib.stat_summarizer`: where the time of many runs goes, as a table."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
