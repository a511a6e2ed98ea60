"""`stillflow doctor` in prepared situations."""

from __future__ import annotations

import json
import os
import platform
import re
import stat
from pathlib import Path

import pytest

import stillflow
from stillflow.cli.doctor import main
from stillflow.cli.health.facts import Facts, Gpu, gather
from stillflow.cli.health.findings import GOOD, NOTE, WRONG, findings
from stillflow.cli.health.tested import PYTHONS, RANGES, is_newer, is_older, numbers

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "torch": "2.13.0+cu129", "numpy": "2.3.5", "protobuf": "7.36.2", "absl-py": "2.5.1",
    "google-crc32c": "1.9.0", "ml_dtypes": "0.6.0", "fsspec": "2026.9.0", "tensorboard": "2.21.0",
    "keras-preprocessing": "1.1.2",
}  # fmt: skip
H100 = Gpu("NVIDIA H100", "570.1", 81559, 4)


def facts(**changed):
    """Return a machine with a GPU on which all is well, but for what is changed."""
    well = {
        "packages": PACKAGES, "torch_cuda": "12.9", "gpus": [H100], "cuda_devices": 1,
        "hello": {"/device:CPU:0": None, "/device:GPU:0": None}, "compiler": "/usr/bin/c++",
    }  # fmt: skip
    return Facts(**{**well, **changed})


def packages(**changed):
    return {**PACKAGES, **changed}


def without_gpu(**changed):
    none = {"gpus": [], "cuda_devices": 0, "torch_cuda": None, "hello": {"/device:CPU:0": None}}
    error = "[Errno 2] No such file or directory: 'nvidia-smi'"
    return facts(**{**none, "driver_error": error, **changed})


SITUATIONS = {
    "old Python": (facts(python=(3, 7)), "Python", WRONG, "3.10 or newer"),
    "32 bits": (facts(bits=32), "Python", WRONG, "64 bits"),
    "no torch": (
        without_gpu(packages=packages(torch=None), torch_error="No module named 'torch'", hello={}),
        "torch", WRONG, 'pip install "torch>=2.11"',
    ),
    "torch too old": (
        facts(packages=packages(torch="2.10.0+cpu")), "torch", WRONG, 'pip install "torch>=2.11"',
    ),
    "torch newer than tested": (
        facts(packages=packages(torch="2.99.0")), "torch", NOTE, 'pip install "torch==',
    ),
    "NumPy newer than tested": (
        facts(packages=packages(numpy="3.0.0")), "numpy", NOTE, "work as far as is known",
    ),
    "fix of a tested NumPy": (facts(packages=packages(numpy="2.5.99")), "numpy", GOOD, ""),
    "Python newer than tested": (
        facts(python=(3, 99), packages=packages(fissix="24.4.24")),
        "Python", NOTE, "work as far as is known",
    ),
    "no translator of Python 2": (facts(python=(3, 12)), "fissix", WRONG, "pip install"),
    "old h5py": (facts(packages=packages(h5py="3.10.0")), "h5py", WRONG, "h5py>=3.11"),
    "old protobuf": (
        facts(packages=packages(protobuf="3.20.3")), "protobuf", WRONG, "protobuf>=6.33.5",
    ),
    "no tensorboard": (
        facts(packages=packages(tensorboard=None)), "tensorboard", NOTE, "pip install tensorboard",
    ),
    "cuDNN cannot be loaded": (
        facts(torch_error="libcudnn.so.9: cannot open shared object file", hello={}),
        "torch import", WRONG, "libcudnn.so.9 belongs to torch's own packages",
    ),
    "broken torch": (
        facts(torch_error="undefined symbol: _ZN3c10", hello={}),
        "torch import", WRONG, "--force-reinstall",
    ),
    "old CUDA folders": (
        facts(library_path="/usr/lib:/usr/local/cuda-10.0/lib64"),
        "LD_LIBRARY_PATH", NOTE, "take these folders out",
    ),
    "no driver": (without_gpu(), "GPU", NOTE, ""),
    "driver does not answer": (
        without_gpu(driver_error="Failed to initialize NVML: Driver/library version mismatch"),
        "GPU driver", WRONG, "Restart the machine",
    ),
    "torch without CUDA": (
        facts(torch_cuda=None, cuda_devices=0), "CUDA", WRONG, "torch's build for CUDA",
    ),
    "GPU hidden": (
        facts(visible="9999", cuda_devices=0, cuda_error="No CUDA GPUs are available"),
        "CUDA", NOTE, "Unset it",
    ),
    "one of two hidden": (facts(visible="1", gpus=[H100, H100]), "CUDA", NOTE, ""),
    "driver too old": (
        facts(cuda_devices=0, cuda_error="The NVIDIA driver on your system is too old"),
        "CUDA", WRONG, "torch is built for CUDA 12.9: install a newer driver",
    ),
    "cuSOLVER missing": (
        facts(cuda_devices=0, cuda_error="Error loading libcusolver.so.11"),
        "CUDA", WRONG, "libcusolver.so.11 is missing",
    ),
    "driver updated under way": (
        facts(cuda_devices=0, cuda_error="unknown error"), "CUDA", WRONG, "Restart the machine",
    ),
    "memory taken": (
        facts(gpus=[Gpu("A10", "550", 24000, 23900)], processes=[(7, "python", 23000)]),
        "GPU 0", WRONG, "python (process 7, 23000 MiB)",
    ),
    "memory taken by others": (
        facts(gpus=[Gpu("A10", "550", 24000, 23900)]), "GPU 0", WRONG, "cannot see",
    ),
    "device fails": (
        facts(hello={"/device:GPU:0": "InternalError: CUBLAS_STATUS_NOT_INITIALIZED"}),
        "device:GPU:0", WRONG, "The lines above",
    ),
    "TensorFlow installed": (
        facts(tensorflow="/x/tensorflow"), "TensorFlow", NOTE, "always means Stillflow",
    ),
    "TensorFlow half removed": (
        facts(packages=packages(**{"tensorflow-gpu": "1.15.5"})),
        "TensorFlow", WRONG, "pip uninstall tensorflow-gpu",
    ),
    "a variable is set": (
        facts(variables={"STILLFLOW_NATIVE": "0"}), "environment", NOTE, "",
    ),
    "no compiler": (facts(compiler=None), "compiler", NOTE, ""),
    "no loops": (
        facts(native=False), "native", NOTE, "Install a C compiler, then reinstall Stillflow."
    ),
    "Apple": (without_gpu(system="Darwin", mps=True), "GPU", GOOD, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation(name):
    situation, topic, level, remedy = SITUATIONS[name]
    found = {finding.topic: finding for finding in findings(situation)}
    assert found[topic].level == level
    assert remedy in found[topic].remedy
    # Nothing else is blamed for it.
    wrong = {finding.topic for finding in found.values() if finding.level == WRONG}
    assert wrong == ({topic} if level == WRONG else set())


@pytest.mark.parametrize("machine", [facts(), without_gpu()])
def test_where_all_is_well_nothing_is_wrong(machine):
    assert {finding.level for finding in findings(machine)} <= {GOOD, NOTE}


def test_here_a_program_runs(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert "CPU:0" in printed and "ran a small program" in printed
    assert main(["--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert {"topic", "level", "text", "remedy"} == set(entries[0])
    told = {entry["topic"]: entry["text"] for entry in entries}  # all that a report needs
    assert told["Stillflow"].startswith(stillflow.__stillflow_version__)
    assert platform.machine() in told["Stillflow"]
    assert {"Python", "torch", "numpy", "native"} <= told.keys()


def test_ranges_begin_where_the_package_says():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    asked = dict(re.findall(r'"([\w-]+)>=([\d.]+)[";]', text))
    assert {name: tested.oldest for name, tested in RANGES.items()} == {
        name: asked[name] for name in RANGES
    }
    pythons = re.findall(r"Python :: (\d+)\.(\d+)\"", text)
    assert (tuple(map(int, pythons[0])), tuple(map(int, pythons[-1]))) == PYTHONS
    assert f'requires-python = ">={".".join(map(str, PYTHONS[0]))}"' in text


def pinned(ends):
    """Return the versions of each package in a file of constraints."""
    text = (ROOT / f"constraints-{ends}.txt").read_text(encoding="utf-8")
    found = {}
    for name, version in re.findall(r"^([\w-]+)==([\d.]+)", text, re.MULTILINE):
        found.setdefault(name, []).append(version)
    return found


@pytest.mark.parametrize("name", RANGES)
def test_the_suite_is_run_with_both_ends_of_each_range(name):
    tested = RANGES[name]
    assert max(pinned("newest")[name], key=numbers) == tested.newest
    first = min(pinned("oldest")[name], key=numbers)
    assert numbers(first)[: len(numbers(tested.oldest))] == numbers(tested.oldest)


def test_versions_are_ordered_by_their_numbers():
    assert is_older("2.9.1", "2.11") and not is_older("2.11.0+cpu", "2.11")
    assert is_newer("2.16.0", "2.15.0") and not is_newer("2.15.3", "2.15.0")
    assert is_newer("3.0", "2.15.0") and not is_newer("2.2", "2.15.0")


@pytest.mark.skipif(os.name == "nt", reason="the tool of this test is a shell script")
def test_the_driver_is_asked_for_gpus_and_processes(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        "#!/bin/sh\ncase $1 in\n"
        "*gpu=*) echo 'Tesla T4, 535.1, 15360, 15000'; echo 'Tesla T4, 535.1, 15360, 10';;\n"
        "*) echo '42, /usr/bin/python, 14990'; echo '43, [Not Found], [N/A]';;\nesac\n"
    )
    tool.chmod(tool.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    found = gather()
    assert found.driver_error is None
    assert [gpu.used for gpu in found.gpus] == [15000, 10]
    assert found.processes == [(42, "/usr/bin/python", 14990), (43, "[Not Found]", 0)]


@pytest.mark.skipif(os.name == "nt", reason="the tool of this test is a shell script")
def test_a_driver_that_fails_is_quoted(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'Failed to initialize NVML'\nexit 18\n")
    tool.chmod(tool.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert gather().driver_error == "Failed to initialize NVML"
