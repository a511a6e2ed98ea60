"""tfdbg, `tensorflow.python.debug`: looks at every tensor of a run.

`watching` selects the tensors to record, `stillflow.runtime` records them, `dump_dir` reads them
back; sessions and hooks do all of that around a program's own runs, and `console` is interactive.
"""

from __future__ import annotations
