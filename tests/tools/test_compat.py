"""tools/compat.py compares outputs and judges runs; docs/compatibility.tsv is whole."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def compat() -> ModuleType:
    path = ROOT / "tools" / "compat.py"
    spec = importlib.util.spec_from_file_location("compat", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[spec.name]


def row(compat: ModuleType, **values: str) -> object:
    names = [field.name for field in compat.fields(compat.Row)]
    return compat.Row(**{**dict.fromkeys(names, ""), **values})


def test_numbers_agree_to_three_digits_and_text_exactly(compat: ModuleType) -> None:
    assert compat.agreement("loss 1.2341 at 3", "loss 1.2340 at 3", True) == ("same", "2 numbers")
    assert compat.agreement("a 1 2 3 4", "a 1 2 3 5", True) == (
        "same at first", "first 3 of 4 numbers",
    )  # fmt: skip
    assert compat.agreement("a 1.5", "a 1.7", True) == ("differ", "first 0 of 1 numbers")
    assert compat.agreement("done", "done", True) == ("none printed", "")


def test_the_last_printed_digit_may_differ_by_one(compat: ModuleType) -> None:
    assert compat.close("0.01", "0.02")
    assert not compat.close("0.01", "0.03")
    assert not compat.close("1", "2")


def test_a_stopped_run_is_compared_as_far_as_both_came(compat: ModuleType) -> None:
    assert compat.agreement("1 2 3", "1 2 3 4 5", False) == ("same", "3 numbers")
    assert compat.agreement("1 2 3", "1 2 3 4 5", True)[0] == "differ"


def test_lines_that_tell_times_are_left_out(compat: ModuleType) -> None:
    assert compat.tokens("loss 1\ntook 3.2 seconds\nloss 2") == ["loss", "1", "loss", "2"]


def test_results(compat: ModuleType) -> None:
    fine, error = compat.Run(0, "x 1", ""), "Traceback\nValueError: no"
    failed = compat.Run(1, "", error)
    cases = [
        ({"ours": fine, "reference": fine}, "runs", "same"),
        ({"ours": failed, "reference": failed}, "fails in TensorFlow 1.15.5 too", "none printed"),
        ({"ours": failed, "reference": fine}, "fails", "not compared"),
        ({"ours": fine, "reference": failed}, "runs", "not compared"),
        ({"ours": compat.Run(None, "x 1", ""), "reference": fine}, "runs", "same"),
    ]
    for runs, result, numbers in cases:
        judged = row(compat, name="one")
        compat.judge(judged, runs, 30)
        assert (judged.result, judged.numbers) == (result, numbers)


def test_paths_of_programs_may_hold_blanks(compat: ModuleType) -> None:
    what = "10 - RNN/02 - Autocomplete.py --steps 3"
    assert compat.split_command(what) == ("10 - RNN/02 - Autocomplete.py", ["--steps", "3"])


def test_every_row_of_the_manifest_has_a_result(compat: ModuleType) -> None:
    rows = compat.read_rows()
    assert len({one.name for one in rows}) == len(rows) > 100
    for one in rows:
        assert one.kind in {*compat.SCRIPTS, "program", "reported"}, one
        assert one.repository and one.what and one.result and one.numbers, one
        if one.kind in ("program", "tests", "checked program"):
            assert re.fullmatch("[0-9a-f]{40}", one.commit), one
