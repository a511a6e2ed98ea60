"""Run rows of docs/compatibility.tsv under TensorFlow 1.15.5 and under Stillflow and compare.

    python tools/compat.py --sources DIR --oracle PYTHON [--data DIR] [--write] NAME [NAME ...]

A row of kind `program` runs once under each interpreter, in a fresh copy of its repository, for at
most --seconds. Both runs start from the same seeds: `tools/compat_site/sitecustomize.py` sets the
graph's seed, NumPy's and Python's when the program imports TensorFlow. The numbers on stdout are
compared in order. A row of kind `tests` goes to tools/libraries.sh, `checked program` to
tools/programs.sh and `files` to tools/artefacts.sh.

--sources holds bare git folders OWNER+NAME or OWNER+NAME/repo, --data a folder `mnist` with the
four idx files. --write stores the results in the manifest.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "docs" / "compatibility.tsv"
SCRIPTS = {
    "tests": ("libraries.sh", ""),
    "checked program": ("programs.sh", "kit_"),
    "files": ("artefacts.sh", ""),
}
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
TOKEN = re.compile(rf"{NUMBER.pattern}|[^\W\d_]+")
TIMES = re.compile(r"(?i)\btime|seconds|\bsec\b|elapsed|examples/s|0x[0-9a-f]{6}|\d ?ms\b|\bETA\b")
RELATIVE = 1e-3


@dataclass
class Row:
    """One line of the manifest."""

    name: str
    kind: str
    repository: str
    commit: str
    what: str
    needs: str
    data: str
    result: str
    numbers: str
    detail: str


@dataclass
class Run:
    """Outcome of one run: exit status (None when the time was up), stdout and stderr."""

    status: int | None
    output: str
    errors: str

    @property
    def failed(self) -> bool:
        return self.status not in (0, None)

    @property
    def error(self) -> str:
        """The class of the exception that ended the run."""
        found = re.findall(
            r"(?m)^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt))\b", self.errors
        )
        return found[-1].rpartition(".")[2] if found else f"exit status {self.status}"


def read_rows(manifest: Path = MANIFEST) -> list[Row]:
    """Return the rows of the manifest."""
    with manifest.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def write_rows(rows: list[Row], manifest: Path = MANIFEST) -> None:
    """Replace the manifest by these rows."""
    names = [field.name for field in fields(Row)]
    lines = ["\t".join(names), *("\t".join(asdict(row).values()) for row in rows)]
    manifest.write_text("\n".join(lines) + "\n", encoding="utf-8")


def git_folder(sources: Path, repository: str) -> Path:
    """Return the git directory of a repository below the folder of sources."""
    top = sources / repository.replace("/", "+")
    for folder in (top / "repo" / ".git", top / "repo", top / ".git", top):
        if (folder / "objects").is_dir():
            return folder
    raise FileNotFoundError(f"no git repository {top}: clone {repository} there")


def lay_out(git: Path, commit: str, target: Path) -> None:
    """Write the files of a commit, except those that a partial clone does not have."""
    command = ["git", "--git-dir", str(git)]
    tree = subprocess.run(
        [*command, "ls-tree", "-rzl", commit], capture_output=True, check=True
    ).stdout.decode()
    entries = [entry.split("\t") for entry in tree.split("\0") if entry]
    there = [path for head, path in entries if head.split()[3] not in ("BAD", "-")]
    for start in range(0, len(there), 500):
        archive = subprocess.run(
            [*command, "archive", commit, "--", *there[start : start + 500]],
            capture_output=True, check=True,
        ).stdout  # fmt: skip
        subprocess.run(["tar", "-x", "-C", str(target)], input=archive, check=True)


def place_data(row: Row, folder: Path, data: Path | None) -> None:
    """Copy data sets to the places where the program looks: `mnist:PATH`."""
    for item in row.data.split():
        name, _, path = item.partition(":")
        if data is None:
            raise FileNotFoundError(f"{row.name} needs --data with a folder {name}")
        target = folder / path
        target.mkdir(parents=True, exist_ok=True)
        for file in (data / name).iterdir():
            shutil.copy(file, target)


def split_command(what: str) -> tuple[str, list[str]]:
    """Return the program's path and its arguments; the path may hold blanks."""
    program, _, arguments = what.partition(".py")
    return program + ".py", arguments.split()


def environment(packages: str | None, more: list[str]) -> dict[str, str]:
    """Return the environment of a run: no display, no GPU, no network, fixed hash seed."""
    paths = [str(ROOT / "tools" / "compat_site"), *more, *filter(None, [packages])]
    proxy = "http://127.0.0.1:9"
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore", "PYTHONIOENCODING": "utf8",
        "MPLBACKEND": "Agg", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2",
        "http_proxy": proxy, "https_proxy": proxy, "no_proxy": "localhost,127.0.0.1",
    }  # fmt: skip


def run(command: list[str], folder: Path, env: dict[str, str], seconds: float) -> Run:
    """Run a command for at most some seconds, and return its output so far."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            start_new_session=True,
        )  # fmt: skip
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        out.seek(0)
        err.seek(0)
        return Run(status, out.read().decode(errors="replace"), err.read().decode(errors="replace"))


def tokens(output: str) -> list[str]:
    """Return the words and numbers of an output, without lines that tell times."""
    lines = output.replace("\r", "\n").splitlines()
    return TOKEN.findall("\n".join(line for line in lines if not TIMES.search(line)))


def close(ours: str, theirs: str) -> bool:
    """Return True when two numbers agree to three digits, or to the last digit printed."""
    if not (NUMBER.fullmatch(ours) and NUMBER.fullmatch(theirs)):
        return ours == theirs
    first, second = float(ours), float(theirs)
    digits = min(len(text.partition(".")[2].partition("e")[0]) for text in (ours, theirs))
    last = 1.01 * 10.0**-digits if "." in ours + theirs and "e" not in ours + theirs else 0
    return abs(first - second) <= max(last, RELATIVE * abs(second))


def agreement(ours: str, theirs: str, both_ended: bool) -> tuple[str, str]:
    """Compare two outputs: the verdict, and how many numbers agree from the start."""
    left, right = tokens(ours), tokens(theirs)
    pairs = list(zip(left, right))
    total = sum(bool(NUMBER.fullmatch(token)) for _, token in pairs)
    good = 0
    for mine, other in pairs:
        if not close(mine, other):
            verdict = "same at first" if good >= max(3, total // 20) else "differ"
            return verdict, f"first {good} of {total} numbers"
        good += bool(NUMBER.fullmatch(other))
    if both_ended and len(left) != len(right):
        return "differ", "output of another length"
    if total:
        return "same", f"{total} numbers"
    if any(NUMBER.fullmatch(token) for token in left + right):
        return "not compared", "one side had printed no number yet"
    return "none printed", ""


def run_program(row: Row, options: argparse.Namespace) -> None:
    """Run a program under both interpreters and fill in its row."""
    git = git_folder(options.sources, row.repository)
    ours_only = "--python2" in row.needs or "--tf0" in row.needs
    program, arguments = split_command(row.what)
    flags = [word for word in row.needs.split() if word.startswith("--")]
    launcher = [sys.executable, "-m", "stillflow", *flags]
    src, runs = [str(ROOT / "src")], {}
    for side in ("ours",) if ours_only else ("reference", "ours"):
        with tempfile.TemporaryDirectory(prefix="compat-") as scratch:
            lay_out(git, row.commit, Path(scratch))
            path = Path(scratch, program)
            place_data(row, path.parent, options.data)
            ours = side == "ours"
            packages = options.packages if ours else options.oracle_packages
            command = [*(launcher if ours else [options.oracle]), path.name, *arguments]
            env = environment(packages, src if ours else [])
            runs[side] = run(command, path.parent, env, options.seconds)
    judge(row, runs, options.seconds)
    if options.logs:
        options.logs.mkdir(parents=True, exist_ok=True)
        for side, done in runs.items():
            text = f"{done.output}\n--- stderr, exit status {done.status}\n{done.errors}"
            (options.logs / f"{row.name}.{side}").write_text(text)


def run_script(row: Row, options: argparse.Namespace) -> int:
    """Run a row of another kind by the script of its kind, and return the exit status."""
    if row.kind not in SCRIPTS:
        raise SystemExit(f"{row.name}: no command was recorded for rows of kind {row.kind!r}")
    script, prefix = SCRIPTS[row.kind]
    name = re.sub(r"_\d$", "", row.name) if row.kind == "files" else row.name.removeprefix(prefix)
    env = {**os.environ, "PYTHON": sys.executable}
    if options.sources:
        env["SOURCES"] = str(options.sources)
    if options.oracle:
        env["ORACLE"] = options.oracle
    return subprocess.run([ROOT / "tools" / script, name], env=env).returncode


def judge(row: Row, runs: dict[str, Run], seconds: float) -> None:
    """Fill in result, numbers and detail of a row."""
    ours, reference = runs["ours"], runs.get("reference")
    details = [f"stopped after {seconds:.0f} s"] if ours.status is None else []
    if ours.failed:
        both = reference is not None and reference.failed and reference.error == ours.error
        row.result = "fails in TensorFlow 1.15.5 too" if both else "fails"
        details = [ours.error]
    elif reference is not None and reference.failed:
        row.result, details = "runs", [f"TensorFlow 1.15.5: {reference.error}"]
    else:
        row.result = "runs"
    if reference is None or reference.failed != ours.failed:
        row.numbers = "not compared"
    else:
        ended = ours.status is not None and reference.status is not None
        row.numbers, counted = agreement(ours.output, reference.output, ended)
        details += [counted] if counted else []
    row.detail = "; ".join(details)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--sources", type=Path, metavar="DIR", help="the git repositories")
    parser.add_argument("--oracle", metavar="PYTHON", help="a Python with TensorFlow 1.15.5")
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder with data sets")
    parser.add_argument("--packages", metavar="DIR", help="packages for Stillflow's side")
    parser.add_argument("--oracle-packages", metavar="DIR", help="packages for TensorFlow's side")
    parser.add_argument("--seconds", type=float, default=60, help="time for each side")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="keep both outputs there")
    parser.add_argument("--manifest", type=Path, default=MANIFEST, metavar="TSV")
    parser.add_argument("--write", action="store_true", help="store results in the manifest")
    options = parser.parse_args()
    known = {row.name: row for row in read_rows(options.manifest)}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"not in {MANIFEST.name}: {', '.join(unknown)}")
    failed = 0
    for name in options.names:
        row = known[name]
        if row.kind != "program":
            failed += run_script(row, options)
            continue
        if not (options.sources and options.oracle):
            parser.error("programs need --sources and --oracle (SOURCES and ORACLE of make)")
        wanted = row.result, row.numbers
        run_program(row, options)
        print(f"{name}: {row.result}; numbers: {row.numbers}; {row.detail}", flush=True)
        failed += (row.result, row.numbers) != wanted
        if options.write:
            others = read_rows(options.manifest)
            merged = [row if one.name == name else one for one in others]
            write_rows(merged, options.manifest)
    return int(failed > 0 and not options.write)


if __name__ == "__main__":
    sys.exit(main())
