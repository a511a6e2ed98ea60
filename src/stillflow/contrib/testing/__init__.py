"""`tf.contrib.testing`: a summary writer for tests, and what event files hold."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
