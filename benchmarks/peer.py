"""Processes of two implementations that take turns. Runs on Python 3.7 as well.

`Peer("tf115", "benchmarks.scaling").ask(case="batch", size=10)` gives what that module's function
`answer(tf, request)` returns, in a process of TensorFlow 1.15.5.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODULES = {"tf115": "tensorflow", "stillflow": "stillflow"}
PEERS = tuple(MODULES)


class Peer:
    """Process of an implementation, started again when it has ended or taken too long.

    Args:
      name: of the implementation.
      module: has the function `answer`.
      patience: seconds for a request.
    """

    def __init__(self, name: str, module: str, patience: float = 60.0) -> None:
        envs = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
        python = sys.executable if name == "stillflow" else f"{envs}/{name}/bin/python"
        self._command = [python, "-m", "benchmarks.peer", name, module]
        self._patience = patience
        self._process: subprocess.Popen[str] | None = None

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the answer to a request, or {"error": ...}."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        timer = threading.Timer(self._patience, process.kill)
        timer.start()
        try:
            print(json.dumps(request), file=process.stdin, flush=True)
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        timer.cancel()
        if not line:
            self.close()
            return {"error": f"ended, or took more than {self._patience:.0f} s"}
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def serve(name: str, answer: Callable[[Any, Any], dict[str, Any]]) -> None:
    """Answer requests, lines of JSON, until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # for what libraries print
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf = importlib.import_module(MODULES[name])
    for line in sys.stdin:
        try:
            found = answer(tf, json.loads(line))
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], importlib.import_module(sys.argv[2]).answer)
