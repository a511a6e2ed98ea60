"""Test files of TensorFlow are loaded as the launcher loads programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORKER = Path(__file__).parents[2] / "tools" / "conformance_worker.py"
# The kit leaves the last statement of a test file out, as the real one does with ``test.main()``.
KIT = """
    import ast
    import sys
    def worker_main(arguments):
        (path,) = arguments
        tree = ast.parse(open(path).read(), path)
        tree.body.pop()
        scope = {}
        exec(compile(tree, path, "exec", dont_inherit=True), scope)
        print(scope["value"].dtype, "tools" in [entry[-5:] for entry in sys.path])
    if __name__ == "__main__":
        print("run as a program")
    """
FILE = "import numpy as np\nvalue = np.sqrt(2.0) * np.ones(2, np.float32)\nraise SystemExit(3)\n"


def test_the_repairs_of_the_launcher_reach_a_tree_that_the_kit_compiles(launcher: Any) -> None:
    launcher.write("kit.py", KIT)
    launcher.write("it_test.py", FILE)
    done = launcher.run(str(WORKER), "kit.py", "worker", "it_test.py")
    assert (done.returncode, done.stdout.split()) == (0, ["float32", "False"])


def test_other_commands_of_the_kit_are_an_error(launcher: Any) -> None:
    launcher.write("kit.py", KIT)
    done = launcher.run(str(WORKER), "kit.py", "report")
    assert done.returncode == 1
    assert "runs the command worker, not report" in done.stderr
