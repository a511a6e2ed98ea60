"""tfdbg, `tensorflow.python.debug`: looks at every tensor of a run.

`watching` says what to record, `stillflow.runtime` records it, `dump_dir` reads it back; sessions
and hooks do all of that around a program's own runs, and `console` lets a person ask.
"""

from __future__ import annotations
