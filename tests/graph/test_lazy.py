"""Modules that are imported late, and what PyTorch is told before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("given", "found"), [(None, "1"), ("0", "0")])
def test_pytorch_is_told_to_use_large_pages_unless_the_user_said_else(given, found):
    name = "THP_MEM_ALLOC_ENABLE"
    variables = {key: value for key, value in os.environ.items() if key != name}
    if given is not None:
        variables[name] = given
    program = (
        "import os, sys, stillflow as tf; early = 'torch' in sys.modules; "
        "tf.Session().run(tf.constant(1.0) + tf.placeholder_with_default(1.0, [])); "
        f"print(early, 'torch' in sys.modules, os.environ[{name!r}])"
    )
    command = [sys.executable, "-c", program]
    output = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert output.stdout.split() == ["False", "True", found]
