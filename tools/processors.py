"""Run of the numeric parts of the suite as other processors would compute them.

    python tools/processors.py                          every variant that this machine can be
    python tools/processors.py far --few                the least like it, a minute of tests
    python tools/processors.py amd two_threads --paths tests/linalg
    python tools/processors.py --results                which results are equal to the bit

Libraries choose their loops by the processor's features, some by its vendor, and sums by the number
of threads. A variant makes them choose otherwise, in processes of its own. Its requirements are
checked first: a variant that this machine cannot be is listed with the reason, and is no failure.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Where numbers are computed.
NUMERIC = (
    "ops", "nn", "linalg", "signal", "random", "distributions", "metrics", "layers", "keras",
    "train", "contrib", "stillflow_contrib", "variables", "native", "runtime", "golden",
)  # fmt: skip
# The parts of it in which processors differ most for the time that they take.
FEW = (
    "ops/math", "ops/training", "ops/recurrent", "ops/sdca", "ops/quantization", "linalg", "signal",
    "random", "nn", "stillflow_contrib/opt", "golden",
)  # fmt: skip
FAMILIES = (
    "keras/optimizers/classic", "nn/losses", "nn/recurrent", "nn/rnn_cell", "ops/linalg",
    "ops/math/elementwise", "ops/math/matmul", "ops/math/reductions", "ops/nn/activations",
    "ops/nn/convolution", "ops/nn/pooling", "ops/random", "ops/sdca", "ops/signal",
    "stillflow_contrib/opt/matrix_optimizers", "stillflow_contrib/solvers", "train/optimizers",
    "train/training",
)  # fmt: skip
# Of the goldens, the values: no graph and no static shape depends on a processor.
VALUES = "not test_golden or (-values] and ({}))"

# MKL asks these which vector loops it may use; torch's libraries find them here first.
VENDOR = """
int mkl_serv_intel_cpu_true(void) {{ return {0}; }}
int mkl_serv_intel_cpu(void) {{ return {0}; }}
"""
PROBE = """
import torch
print(torch.backends.cpu.get_cpu_capability(), torch.get_num_threads())
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*[name for name in __cpu_dispatch__ if __cpu_features__[name]])
from stillflow import native
print(native.library() is not None and native.FOLDER)
"""


@dataclass(frozen=True)
class Variant:
    """One way of computing.

    Attributes:
      says: how it differs from the machine's own.
      environment: variables that libraries read when they are loaded.
      capability: the instructions that torch then says it uses; "" for those of the machine.
      flags: of /proc/cpuinfo, that the processor has to have.
      vendor: whose processor MKL takes this one for; "" for its own.
      numpy: NumPy features to switch off, as a pattern of their names.
      compiler: options that the native library is built with; None for the one that is there.
    """

    says: str
    environment: dict[str, str] = field(default_factory=dict)
    capability: str = ""
    flags: tuple[str, ...] = ()
    vendor: str = ""
    numpy: str = ""
    compiler: str | None = None


def _x86(torch: str, onednn: str, mkl: str, openblas: str) -> dict[str, str]:
    return {
        "ATEN_CPU_CAPABILITY": torch, "ONEDNN_MAX_CPU_ISA": onednn,
        "MKL_ENABLE_INSTRUCTIONS": mkl, "OPENBLAS_CORETYPE": openblas,
    }  # fmt: skip


AVX512 = _x86("avx512", "AVX512_CORE", "AVX512", "SkylakeX")
AVX2 = _x86("avx2", "AVX2", "AVX2", "Haswell")
# The mathematics of the C library, too, has loops with and without fused products.
SSE = _x86("default", "SSE41", "SSE4_2", "Nehalem")
SSE["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4"
# No variant inherits these settings.
SETTINGS = {*SSE, "NPY_DISABLE_CPU_FEATURES", "MKL_CBWR", "STILLFLOW_NATIVE"}
WITHOUT_AVX512 = r"AVX512\w*|X86_V4"
ONE_PROCESSOR = "-D'target_clones(...)=unused'"  # no loop is compiled for several processors

VARIANTS = {
    "host": Variant("as this machine computes by itself"),
    "avx512": Variant(
        "loops for AVX-512, on Intel's or AMD's", AVX512, "AVX512", flags=("avx512f", "avx512vl")
    ),
    "avx2": Variant("loops for AVX2", AVX2, "AVX2", ("avx2", "fma"), numpy=WITHOUT_AVX512),
    "sse": Variant("loops for any x86-64, without fused products", SSE, "DEFAULT", numpy=".*"),
    "intel": Variant("MKL as on a processor of Intel's", vendor="intel"),
    "intel_avx2": Variant("the same with AVX2 alone", AVX2, "AVX2", ("avx2", "fma"), "intel"),
    "amd": Variant("MKL as on a processor of another vendor", vendor="amd"),
    "two_threads": Variant("two threads share sums and loops", {"OMP_NUM_THREADS": "2"}),
    "native_any": Variant("native loops compiled for any processor", compiler=ONE_PROCESSOR),
    "native_host": Variant(
        "native loops compiled for this processor alone", compiler=f"-march=native {ONE_PROCESSOR}"
    ),
    "plain": Variant("without native loops", {"STILLFLOW_NATIVE": "0"}),
}


def _vendor() -> str:
    with contextlib.suppress(OSError):
        found = re.search(r"vendor_id\s*:\s*(\S+)", Path("/proc/cpuinfo").read_text())
        return {"GenuineIntel": "intel"}.get(found[1], "amd") if found else ""
    return ""


def _flags() -> set[str]:
    with contextlib.suppress(OSError):
        found = re.search(r"flags\s*:(.*)", Path("/proc/cpuinfo").read_text())
        return set(found[1].split()) if found else set()
    return set()


def _far() -> Variant:
    """Return the variant least like this machine: baseline instructions, MKL of the other vendor.

    MKL has no loops for AVX2 and above on processors of other vendors, so that it is Intel's there
    that differ most.
    """
    if _vendor() == "intel":
        return Variant("SSE, MKL as on AMD's", SSE, "DEFAULT", (), "amd", ".*", ONE_PROCESSOR)
    mixed = {**SSE, "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
    return Variant(
        "SSE, MKL as on Intel's", mixed, "DEFAULT", ("avx2",), "intel", ".*", ONE_PROCESSOR
    )


class Impossible(Exception):
    """Error for a variant that this machine cannot compute; the message has the reason."""


def environment_of(variant: Variant, folder: Path) -> dict[str, str]:
    """Return the environment of a variant, whose libraries are built into a folder.

    Raises:
      Impossible: if this machine cannot compute so.
    """
    if variant.capability and platform.machine() not in ("x86_64", "AMD64"):
        raise Impossible(f"is for x86-64, and this is {platform.machine()}")
    if missing := set(variant.flags) - _flags():
        raise Impossible(f"the processor has no {', '.join(sorted(missing))}")
    own = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    given = {**own, "OMP_NUM_THREADS": "1", **variant.environment}
    if variant.vendor:
        given["LD_PRELOAD"] = str(_vendor_library(variant.vendor, folder))
    if variant.compiler is not None:
        given["PYTHONPATH"] = str(_package(variant.compiler, folder))
    capability, features, place = _probed(given)
    if variant.numpy:
        off = [name for name in features.split() if re.fullmatch(variant.numpy, name)]
        given["NPY_DISABLE_CPU_FEATURES"] = " ".join(off)
    if variant.capability and capability.split()[0] != variant.capability:
        raise Impossible(f"torch computes with {capability.split()[0]}, not {variant.capability}")
    if variant.compiler is not None and not place.startswith(str(folder)):
        raise Impossible(f"Python takes the native loops of {place}")
    return given


def _probed(environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, cwd=ROOT
    )
    if done.returncode:
        raise Impossible(done.stderr.strip().rpartition("\n")[2])
    return done.stdout.splitlines()


def _compiler() -> list[str]:
    sys.path.insert(0, str(ROOT / "tools"))
    import build_native

    if (command := build_native.compiler()) is None:
        raise Impossible("there is no C compiler")
    return command


def _vendor_library(vendor: str, folder: Path) -> Path:
    if sys.platform != "linux" or not (actual := _vendor()):
        raise Impossible("is for x86-64 and Linux")
    if vendor == actual:
        raise Impossible("is what this machine is")
    source, target = folder / f"{vendor}.c", folder / f"{vendor}.so"
    source.write_text(VENDOR.format(int(vendor == "intel")))
    subprocess.run([*_compiler(), "-shared", "-fPIC", "-o", target, source], check=True)
    return target


def _package(options: str, folder: Path) -> Path:
    """Return a copy of the package whose native library is built with these options."""
    source = Path(tempfile.mkdtemp(dir=folder)) / "src"
    shutil.copytree(
        ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "stillflow_native.*")
    )
    native = source / "stillflow" / "native"
    command = " ".join(map(str, [*_compiler(), options]))
    subprocess.run(
        [sys.executable, ROOT / "tools" / "build_native.py", native],
        env={**os.environ, "CC": command}, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return source


def _run(
    environment: dict[str, str], few: bool, paths: Sequence[str], jobs: int
) -> tuple[int, str]:
    """Return the exit status of pytest, and its last line."""
    families = " or ".join(f"[{name}/" for name in FAMILIES) if few else "values"
    folders = paths or [f"tests/{part}" for part in (FEW if few else NUMERIC)]
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(jobs),
        "-m", "not slow and not oracle and not browser and not gpu",
        "-k", VALUES.format(families), *folders,
    ]  # fmt: skip
    lines: list[str] = []
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            lines.append(line.rstrip())
    report = [line for line in lines if not re.fullmatch(r"[.sxXFE]* *\[ *\d+%\]", line)]
    if running.returncode:
        print(*report, sep="\n", flush=True)
    return running.returncode, report[-1] if report else "no report"


def _possible(names: Sequence[str], folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Variants that this machine can be, and their environments; prints why it cannot be others."""
    variants = {**VARIANTS, "far": _far()}
    for name in names or variants:
        try:
            yield name, environment_of(variants[name], folder)
        except Impossible as reason:
            print(f"{name:12} not here: {reason}", flush=True)


def run_tests(arguments: argparse.Namespace, folder: Path) -> bool:
    """Print the results of each variant's tests; return True if all passed."""
    passed = True
    for name, given in _possible(arguments.variants, folder):
        start = time.monotonic()
        status, last = _run(given, arguments.few, arguments.paths, arguments.jobs)
        said = f"{'FAILED: ' if status else ''}{last.strip('= ')}"
        print(f"{name:12} {said}, {time.monotonic() - start:.0f} s", flush=True)
        passed = passed and not status
    return passed


def compare_results(names: Sequence[str], folder: Path) -> None:
    """Print, for each kind of result, the variants that differ from the first and by how much."""
    import numpy as np

    found = {}
    for name, given in _possible(names, folder):
        target = folder / f"{name}.npz"
        subprocess.run(
            [sys.executable, ROOT / "tools" / "processor_results.py", target],
            env=given, check=True, cwd=ROOT,
        )  # fmt: skip
        found[name] = dict(np.load(target, allow_pickle=False))
        print(f"{name:12} computed", flush=True)
    first = next(iter(found.values()))
    for result, expected in first.items():
        worst, where = 0.0, []
        for name, results in found.items():
            if results[result].tobytes() != expected.tobytes():
                difference = np.abs(results[result] - expected).max() / np.abs(expected).max()
                worst, where = max(worst, float(difference)), [*where, name]
        print(f"{result:24}", f"{worst:.0e} {' '.join(where)}" if where else "equal", flush=True)


def main(given: Sequence[str] | None = None) -> int:
    """Run variants; 1 if a test of any of them failed."""
    names = {**VARIANTS, "far": _far()}
    table = "\n".join(f"  {name:12} {variant.says}" for name, variant in names.items())
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"variants:\n{table}",
    )  # fmt: skip
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="by default all of them")
    parser.add_argument("--few", action="store_true", help="the tests that differ most")
    parser.add_argument("--paths", nargs="+", default=[], help="tests to run instead")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--results", action="store_true", help="compare results, run no tests")
    arguments = parser.parse_args(given)
    if unknown := set(arguments.variants) - set(names):
        parser.error(f"no such variant: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        if arguments.results:
            compare_results(arguments.variants, Path(folder))
            return 0
        return 0 if run_tests(arguments, Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main())
