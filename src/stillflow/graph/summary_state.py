"""Summary state of each thread: on or off, the writer, the step, and the replica."""

from __future__ import annotations

import threading
from typing import Any


class _State(threading.local):
    writer: Any = None
    condition: Any = None  # a bool, a tensor or a function that gives one; None: not said
    step: Any = None
    in_replica: Any = True  # a function where replicas are built, of which the first one records


state = _State()
