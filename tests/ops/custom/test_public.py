"""Public operations, compiled unmodified, give what they give with TensorFlow 1.15.5.

The folder `$STILLFLOW_PUBLIC_OPS` holds the sources, which this repository does not: a folder
`owner+name` for each repository of `public.BUILDS` (tensorflow/lattice and deepmind/trfl from
before they became Python alone).
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import building, public

pytestmark = pytest.mark.oracle
FOLDER = os.environ.get("STILLFLOW_PUBLIC_OPS", "")
ENVIRONMENTS = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
ORACLE = os.path.join(ENVIRONMENTS, "tf115", "bin", "python")


def results(python: str, implementation: str, name: str, target: Path) -> Any:
    command = [python, public.__file__, FOLDER, str(target), implementation, name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if implementation == "tensorflow":
        del environment["PYTHONPATH"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return pickle.loads(target.read_bytes())[name]


@pytest.mark.parametrize("name", sorted(public.BUILDS))
def test_a_public_library_computes_what_it_does_with_tensorflow(name: str, tmp_path: Path) -> None:
    building.need_compiler()
    if not os.path.exists(ORACLE):
        pytest.skip(f"no TensorFlow 1.15.5 at {ORACLE}")
    if not FOLDER or not all(map(os.path.exists, public.sources_of(FOLDER, name)[0])):
        pytest.skip("$STILLFLOW_PUBLIC_OPS does not hold these sources")
    ours = results(sys.executable, "stillflow", name, tmp_path / "ours")
    assert "compiler" not in ours, ours["compiler"]
    if name in public.ONLY_RUN:
        return
    theirs = results(ORACLE, "tensorflow", name, tmp_path / "theirs")
    assert "compiler" not in theirs, theirs["compiler"]
    assert ours.keys() == theirs.keys()
    for key, values in theirs.items():
        if key == "graph" or isinstance(values[0], str):
            assert ours[key] == values, key
            continue
        for found, expected in zip(ours[key], values, strict=True):
            assert found.dtype == expected.dtype, key
            if name in public.UNORDERED and found.ndim == 2:
                found, expected = (each[np.lexsort(each.T)] for each in (found, expected))
            np.testing.assert_array_equal(found, expected, err_msg=key)
