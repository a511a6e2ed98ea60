"""The tool that runs tests as other processors compute: its variants, and what it says of them."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "processors.py"


@pytest.fixture(scope="module")
def processors() -> ModuleType:
    spec = importlib.util.spec_from_file_location("processors", TOOL)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "processors", module)  # dataclasses ask for it
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def is_a(processors: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """Set what the processor is; nothing is started."""

    def pretend(vendor: str, flags: set[str], torch: str = "AVX2") -> None:
        monkeypatch.setattr(processors.sys, "platform", "linux")
        monkeypatch.setattr(processors.platform, "machine", lambda: "x86_64")
        monkeypatch.setattr(processors, "_vendor", lambda: vendor)
        monkeypatch.setattr(processors, "_flags", lambda: flags)
        answer = [f"{torch} 1", "AVX2 AVX512F AVX512_SKX", "False"]
        monkeypatch.setattr(processors, "_probed", lambda environment: answer)

    return pretend


def test_a_level_is_one_of_every_library(processors, is_a, monkeypatch, tmp_path) -> None:
    is_a("intel", {"avx2", "fma"})
    monkeypatch.setattr(os, "environ", {"MKL_CBWR": "COMPATIBLE"})
    given = processors.environment_of(processors.VARIANTS["avx2"], tmp_path)
    assert given == {
        "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512_SKX",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "flags", "torch", "reason"),
    [
        ("avx512", {"avx2", "fma"}, "AVX2", "the processor has no avx512f, avx512vl"),
        ("avx2", {"avx2", "fma"}, "DEFAULT", "torch computes with DEFAULT, not AVX2"),
        ("intel", set(), "AVX2", "is what this machine is"),
    ],
)
def test_a_variant_that_the_machine_cannot_be_is_named_with_the_reason(
    processors, is_a, tmp_path, capsys, name, flags, torch, reason
) -> None:
    is_a("intel", flags, torch)
    assert list(processors._possible([name], tmp_path)) == []
    said = capsys.readouterr().out
    assert said.split(maxsplit=1) == [name, f"not here: {reason}\n"]


@pytest.mark.parametrize(("vendor", "other"), [("intel", "amd"), ("amd", "intel")])
def test_the_variant_farthest_away_has_the_vector_loops_of_the_other_vendor(
    processors, is_a, vendor, other
) -> None:
    is_a(vendor, set())
    far = processors._far()
    assert (far.vendor, far.capability) == (other, "DEFAULT")


def test_every_folder_of_numbers_is_there(processors) -> None:
    tests = TOOL.parents[1] / "tests"
    parts = (*processors.NUMERIC, *processors.FEW)
    assert [part for part in parts if not (tests / part).is_dir()] == []
    families = tests / "golden" / "programs"
    assert [name for name in processors.FAMILIES if not (families / f"{name}.py").is_file()] == []


def test_an_unknown_variant_is_an_error(processors, capsys) -> None:
    with pytest.raises(SystemExit):
        processors.main(["avx3"])
    assert "no such variant: avx3" in capsys.readouterr().err
