"""`tf.contrib.specs`: networks written as short expressions, `net = Cr(64, [5, 5]) | Fs(10)`."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)

# They use names of this package.
from stillflow.contrib.specs import summaries as summaries  # noqa: E402 - it needs the others
from stillflow.contrib.specs.params_ops import *  # noqa: E402, F403 - functions of math
