"""Public names of `tf.contrib`, for the table of all public names."""

from __future__ import annotations

from stillflow._namespace import contrib_names
from stillflow_contrib._api import TABLE

contrib_names.provide(TABLE)
