"""Hooks that input pipelines of TPUs use, and others may."""

from __future__ import annotations

import time
from typing import Any

from stillflow.platform import tf_logging as logging
from stillflow.train.session_run_hook import SessionRunHook


class MultiHostDatasetInitializerHook(SessionRunHook):
    """Initializes the iterators of datasets when a session is there.

    Args:
      dataset_initializers: the operations that do.
    """

    def __init__(self, dataset_initializers: Any) -> None:
        self._initializers = dataset_initializers

    def after_create_session(self, session: Any, coord: Any) -> None:
        start = time.time()
        session.run(self._initializers)
        logging.info("Initialized dataset iterators in %d seconds", time.time() - start)
