"""The count of names of operations in the runtime."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("check_op_names", TOOLS / "check_op_names.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_strings_that_name_operations_are_found(tool):
    text = 'X = frozenset({"Add", "Adder"})\nif op.type == "MatMul":\n    """Add"""\n'
    found = sorted(tool.names_in(text, {"Add", "MatMul"}))
    assert found == [(1, "Add"), (2, "MatMul"), (3, "Add")]


def test_more_names_than_listed_are_a_fault_and_so_are_fewer(tool):
    listed = {"a.py": 2, "b.py": 2, "c.py": 1}
    found = {"a.py": 3, "b.py": 1, "d.py": 1, "c.py": 1}
    faults = tool.compare(found, listed)
    assert [fault.partition(":")[0] for fault in faults] == ["a.py", "b.py", "d.py"]


def test_the_list_only_shrinks(tool):
    listed = {"a.py": 2, "b.py": 2, "c.py": 1}
    assert tool.lowered({"a.py": 3, "b.py": 1, "d.py": 1}, listed) == {"a.py": 2, "b.py": 1}
