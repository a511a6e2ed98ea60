"""`tf.contrib.solvers`: systems of equations whose matrix is known by its products only."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
