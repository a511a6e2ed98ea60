"""Run of fetches in a session of their own."""

from __future__ import annotations

from typing import Any

import stillflow as tf


def run(fetches: Any, feed_dict: Any = None, first: Any = None) -> Any:
    """Fetch after initializing all variables, and after running `first` if it is given."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        if first is not None:
            session.run(first, feed_dict)
        return session.run(fetches, feed_dict)
