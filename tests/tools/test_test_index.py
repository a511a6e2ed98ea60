"""The index of tests: it is whole, its tests exist, and a sample of its rows is measured again."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "test_index.py"
GOLDEN = "tests/golden/test_golden.py::test_agrees_with_tensorflow"
SAMPLE = "tests/ops/test_samples.py::test_every_type_runs"


@pytest.fixture(scope="module")
def index() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tool_test_index", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_module_has_tests_and_every_test_exists(index) -> None:
    assert index.faults(index.read_index(), index.modules()) == []


def test_rows_are_in_order_and_name_a_few_tests(index) -> None:
    rows = index.read_index()
    assert list(rows) == sorted(rows)
    assert all(0 < len(tests) <= index.MOST for tests in rows.values())
    assert all(len(tests) == len(set(tests)) for tests in rows.values())


def test_some_rows_are_measured_again(index, tmp_path) -> None:
    """Tests of each kind, from a third and two thirds of the way through the index."""
    rows = index.read_index()
    kinds: dict[str, list[str]] = {"golden": [], "sample": [], "": []}
    for test in sorted({test for tests in rows.values() for test in tests}):
        kind = test.partition(":")[0]
        kinds[kind if kind in kinds else ""].append(test)
    chosen = [tests[len(tests) * part // 3] for tests in kinds.values() for part in (1, 2)]
    files, words = [], []
    for test in chosen:
        file, *selection = index.command_of(test)
        path, _, function = file.partition("::")
        files.append(path)
        words += selection[1:] or [function.rpartition("::")[2]]
    out = tmp_path / "trace.txt"
    assert index.trace([*sorted(set(files)), "-n", "0", "-k", " or ".join(words)], out) == 0
    traces = index.read_traces([out])
    wrong = [
        (module, test)
        for module, tests in rows.items()
        for test in set(tests) & set(chosen)
        if module not in traces[test]
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("test", "entry"),
    [
        (f"{GOLDEN}[image/resizing/floats-values]", "golden:image/resizing/floats"),
        (f"{SAMPLE}[Conv2D]", "sample:Conv2D"),
        ("tests/train/test_saver.py::test_names[a-b]", "tests/train/test_saver.py::test_names"),
        ("tests/nest/test_nest.py::test_maps", "tests/nest/test_nest.py::test_maps"),
    ],
)
def test_entries_leave_out_parameters(index, test, entry) -> None:
    assert index.entry_of(test) == entry


@pytest.mark.parametrize(
    ("test", "common"),
    [
        ("tests/image/test_resizing.py::test_x", 2),
        ("golden:image/resizing/floats", 2),
        ("golden:ops/image/resampling/floats", 1),
        ("golden:ops/math/matmul/plain", 0),
        ("tests/train/test_saver.py::test_x", 0),
    ],
)
def test_nearness_counts_common_parts(index, test, common) -> None:
    assert index.nearness("src/stillflow/image/resizing.py", test) == common


def test_the_nearest_and_the_smallest_of_several_files_come_first(index) -> None:
    sizes = {
        "tests/train/test_saver.py::test_a": 90, "tests/train/test_saver.py::test_b": 80,
        "tests/train/test_other.py::test_c": 10, "golden:train/saver/names": 100,
        "tests/nest/test_nest.py::test_d": 1,
    }  # fmt: skip
    assert index.choose("src/stillflow/train/saver.py", sizes) == [
        "tests/train/test_saver.py::test_b", "golden:train/saver/names",
    ]  # fmt: skip


def test_traces_become_rows(index, tmp_path) -> None:
    path = tmp_path / "trace.txt"
    module = "src/stillflow/nest/structure.py"
    path.write_text(
        f"M\t0\t{module}\nM\t1\tsrc/stillflow/x.py\n"
        "T\ttests/nest/test_a.py::test_b[1]\t0 1\nT\ttests/nest/test_a.py::test_b[2]\t0\n"
    )
    traces = index.read_traces([path])
    assert traces == {"tests/nest/test_a.py::test_b": {module, "src/stillflow/x.py"}}
    assert index.rows_of(traces, [module]) == {module: ["tests/nest/test_a.py::test_b"]}


def test_rows_follow_files_that_are_moved(index) -> None:
    moves = {
        "src/stillflow/a.py": "src/stillflow/b.py",
        "tests/test_a.py": "tests/test_b.py",
        "tests/golden/programs/image/old.py": "tests/golden/programs/image/new.py",
    }
    rows = {"src/stillflow/a.py": ["tests/test_a.py::test_x", "golden:image/old/p", "sample:Abs"]}
    assert index.follow(rows, moves) == {
        "src/stillflow/b.py": ["tests/test_b.py::test_x", "golden:image/new/p", "sample:Abs"]
    }


def test_faults_say_what_is_wrong(index) -> None:
    here = "tests/tools/test_test_index.py::test_faults_say_what_is_wrong"
    rows = {"a.py": [here], "gone.py": [here], "b.py": ["tests/tools/none.py::test_x"],
            "c.py": ["golden:image/resizing/floats", "golden:image/resizing/none"],
            "d.py": ["sample:Conv2D", "sample:NoOperation"]}  # fmt: skip
    assert index.faults(rows, ["a.py", "b.py", "c.py", "d.py", "new.py"]) == [
        "new.py: no test is known to execute it",
        "gone.py: is no module with functions",
        "golden:image/resizing/none: is no test",
        "sample:NoOperation: is no test",
        "tests/tools/none.py::test_x: is no test",
    ]


def test_tests_of_a_module_are_printed_as_commands(index, capsys) -> None:
    module, tests = next(iter(index.read_index().items()))
    assert index.main([str(TOOL.parents[1] / module)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == module
    assert len(said) == 1 + len(tests)
    assert all(line.startswith("    python -m pytest tests/") for line in said[1:])
    assert index.main([str(TOOL)]) == 1
    assert "has no row" in capsys.readouterr().err
