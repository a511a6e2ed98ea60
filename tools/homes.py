"""The homes of public names: the rule as data, and its table in docs/architecture.md.

A guess names one folder of `src/stillflow/`, or two: one of compositions, and one where the cards
of operations stand with the functions that wrap them. `tests/test_homes.py` holds the sources
against the rule.

    python tools/homes.py              # the share of names that the rule finds, and the others
    python tools/homes.py nn.relu      # the guess for a name
    python tools/homes.py --write      # write the table into docs/architecture.md
"""

from __future__ import annotations

import argparse
import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
SEED = 1515
BEGIN, END = "<!-- homes: python tools/homes.py --write -->\n", "<!-- /homes -->\n"


class Row(NamedTuple):
    """Names, and the folders or files of `src/stillflow/` that serve them.

    Attributes:
      names: namespaces or names, with blanks between; `*` stands for any letters.
      folders: at most two, with a blank between.
      holds: what the names have in common, for readers.
    """

    names: str
    folders: str
    holds: str = ""


# `tf.<space>.<name>` is at home in `<space>/`, or in `ops/<space>/` if it wraps one operation; but:
SPACES = (
    Row("app compat flags logging resource_loader sysconfig", "platform"),
    Row("bitwise", "ops/bitwise.py"),
    Row("config", "platform eager"),
    Row(
        "distribute.cluster_resolver distribute.experimental",
        "distribute ../stillflow_contrib/distribute",
    ),
    Row("dtypes", "graph ops/math"),
    Row("estimator.export", "estimator saved_model"),
    Row("gfile python_io", "files"),
    Row("initializers keras.initializers", "keras/initializers.py variables"),
    Row("io", "files ops/io"),
    Row("keras.experimental", "keras/premade train"),
    Row("keras.metrics", "keras/metrics keras/losses"),
    Row("keras.models", "keras/engine keras/saving"),
    Row("keras.optimizers", "keras/optimizers train"),
    Row("manip", "ops/arrays"),
    Row("queue", "ops/queues"),
    Row("sets", "ops/sparse"),
    Row("spectral", "signal ops/signal"),
    Row("test", "testing"),
    Row("tpu estimator.tpu", "contrib/tpu ops/tpu"),
    Row("user_ops", "ops/user_ops.py"),
    Row("version", "version.py"),
)

# `tf.<name>` without a namespace, where it has no other name in one.
TOP = (
    Row("*Session", "runtime/session", "sessions"),
    Row(
        "*ariable* *partitioner *_initializer assign* count_up_to Module make_template"
        " custom_gradient grad_pass_through recompute_grad no_regularizer AUTO_REUSE",
        "variables",
        "variables, their scopes and initializers; `tf.custom_gradient`",
    ),
    Row("Ragged*", "ragged", "ragged tensors"),
    Row("TensorArray*", "ops/tensor_array", "`tf.TensorArray`"),
    Row(
        "Graph* *_graph Operation Tensor TensorShape *Spec IndexedSlices Sparse* *Dimension*"
        " *_dimension* dimension_* *_tensorshape *collection* *_scope device container"
        " colocate_with control_dependencies *convert_to_tensor* *_conversion_function"
        " *_tensor_proto make_ndarray is_tensor get_static_value *eager* *_default_*"
        " RegisterGradient NoGradient",
        "graph",
        "graphs, operations, tensors, shapes, scopes, collections, conversions to tensors",
    ),
    Row(
        "function wrap_function map_fn vectorized_map scan fold* switch_case *batch_function",
        "functional",
        "functions, and what maps and folds them",
    ),
    Row(
        "cond case while_loop CriticalSection *control_flow* group tuple identity* no_op"
        " stop_gradient guarantee_const",
        "ops/control_flow",
        "branches, loops, `tf.group`, `tf.identity`",
    ),
    Row("gradients hessians *Gradients AggregationMethod", "ops/gradients", "`tf.gradients`"),
    Row(
        "GradientTape py_function *v2_behavior *equality", "eager",
        "`tf.GradientTape`, `tf.py_function`",
    ),
    Row("*Reader *ReaderBase", "ops/io", "readers"),
    Row("*Accumulator*", "ops/queues", "accumulators of gradients"),
    Row("sparse_*", "ops/sparse", "functions of sparse tensors"),
    Row("string_* substr", "strings ops/strings", "functions of strings"),
    Row("load_* get_logger", "platform", "`tf.load_op_library`"),
    Row("constant placeholder*", "ops/constants.py", "`tf.constant`, `tf.placeholder`"),
    Row("py_func numpy_function", "ops/py_func.py", "`tf.py_func`"),
    Row("print Print timestamp", "ops/printing.py", "`tf.print`"),
    Row("*session_handle *session_tensor", "ops/session_tensors.py", "`tf.get_session_tensor`"),
    Row("*", "ops/arrays ops/math", "all else: moves elements, or computes"),
)  # fmt: skip

# The packages of contrib that programs use most; the others stand in `../stillflow_contrib/`.
COMMON = "framework layers tensorboard tpu training"
# `tf.contrib.<space>.<name>` is there, or where `tf.<space>.<name>` would be; but:
CONTRIB = (
    Row("checkpoint training", "train"),
    Row(
        "framework.*global_step* framework.*shape framework.*sort framework.assert_*"
        " framework.con* framework.deprecated* framework.init_* framework.list_*"
        " framework.load_* framework.py_func framework.re* framework.smart_*",
        "../stillflow_contrib/framework",
    ),
    Row("framework", "nest"),
    Row("image resampler", "../stillflow_contrib/ops/image"),
    Row("layers", "../stillflow_contrib/layers"),
    Row("memory_stats", "../stillflow_contrib/ops/memory_stats.py"),
    Row("periodic_resample", "../stillflow_contrib/ops/periodic_resample.py"),
    Row("rnn", "nn"),
    Row("slim.summarize_*", "../stillflow_contrib/layers"),
    Row("slim", "contrib/layers"),
    Row("tensor_forest", "../stillflow_contrib/ops/tensor_forest"),
    Row("tfprof", "profiler"),
    Row("tpu.InfeedQueue tpu.Topology tpu.repeat tpu.while_loop", "../stillflow_contrib/tpu"),
    Row("tpu", "ops/tpu"),
    Row(
        "training.*bucket* training.*equence* training.*gradient* training.*sample* "
        "training.*Strategy training.SummaryAtEndHook training.byte_* training.create_train_op "
        "training.evaluate_repeatedly training.train",
        "../stillflow_contrib/training",
    ),
)


class Rule:
    """The rule, applied to a table of public names and what serves each.

    The table says which names are the same object's; where it says that they are is not used.
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table
        self._spaces: dict[str, set[str]] = defaultdict(set)
        for name, target in table.items():
            space = name.rpartition(".")[0]
            if space.isidentifier() and space not in ("compat", "contrib", "keras"):
                self._spaces[target].add(space)

    def guess(self, name: str, message: bool = False) -> tuple[str, ...]:
        """Return where the rule expects a name (without "tf."): at most two folders or files.

        Args:
          name: the public name, without "tf.".
          message: it is that of a class of protobuf messages.
        """
        if message:
            return ("protos",)
        plain = re.sub(r"^compat\.v[12]\.", "", name)
        space, _, leaf = plain.rpartition(".")
        if space.startswith("contrib."):
            return _in_contrib(space.removeprefix("contrib."), leaf)
        target = self._table.get(plain, self._table.get(name, ""))
        spaces = sorted(self._spaces.get(target, ()))
        folders = dict.fromkeys(_in_space(space)[-1] for space in spaces[:2])
        if len(folders) > 1:
            return tuple(folders)
        if space or spaces:
            return _in_space(space or spaces[0])
        row = _row(TOP, leaf)
        assert row is not None  # the last one takes all
        return tuple(row.folders.split())


def _in_space(space: str) -> tuple[str, ...]:
    first, *inner = space.split(".")
    row = _row(SPACES, ".".join([first, *inner[:1]])) or _row(SPACES, first)
    if row is not None:
        return tuple(row.folders.split())
    if first == "keras":
        return ("/".join([first, *inner[:1]]),)
    return (first, f"ops/{first}")


def _in_contrib(space: str, leaf: str) -> tuple[str, ...]:
    space, _, inner = space.partition(".")
    home = "contrib" if space in COMMON.split() else "../stillflow_contrib"
    inside = _row(CONTRIB, f"{space}.{inner.partition('.')[0]}") if inner else None
    row = _row(CONTRIB, f"{space}.{leaf}") or inside or _row(CONTRIB, space)
    return (f"{home}/{space}", row.folders if row else _in_space(space)[0])


def _row(rows: tuple[Row, ...], name: str) -> Row | None:
    """Return the first row with a word that fits a name."""
    for row in rows:
        pattern = row.names.replace(".", r"\.").replace("*", r"\w*").replace(" ", "|")
        if re.fullmatch(pattern, name):
            return row
    return None


def is_found(target: str, folders: tuple[str, ...]) -> bool:
    """Return whether a target of the table ("ops.nn.conv:conv2d") lies in one of the folders."""
    path = target.partition(":")[0].replace(".", "/")
    path = re.sub("^stillflow_contrib/", "../stillflow_contrib/", path)
    names = [folder.removesuffix(".py") for folder in folders]
    return any(path == name or path.startswith(f"{name}/") for name in names)


def objects(table: Mapping[str, str]) -> dict[str, str]:
    """Return a name of each public object, its shortest, with what serves it."""
    names = defaultdict(list)
    for name, target in table.items():
        names[target].append(name)
    second = ("compat.", "contrib.")
    return {
        min(all_, key=lambda name: (name.startswith(second), name.count("."), name)): target
        for target, all_ in names.items()
    }


def sample(table: Mapping[str, str], count: int = 200) -> dict[str, str]:
    """Return some of the public objects by chance; another object more changes one at most."""
    named = objects(table)
    order = sorted(named, key=lambda name: zlib.crc32(f"{SEED} {name}".encode()))
    return {name: named[name] for name in order[:count]}


def page() -> Iterator[str]:
    """Yield the lines of the table for docs/architecture.md."""
    yield "\n| name | folder of `src/stillflow/` |\n|---|---|\n"
    yield "| a class of messages: `tf.GraphDef` | `protos/` |\n"
    yield (
        "| `tf.<space>.<name>` | `<space>/`: a composition (`tf.image.resize_images`);"
        " `ops/<space>/`: a function that wraps one operation (`tf.nn.relu`) |\n"
    )
    yield "| ... with a name in two spaces | the `ops/` folder of the one or the other |\n"
    yield "| `tf.keras.<space>.<name>` | `keras/<space>/` |\n"
    for row in SPACES:
        yield f"| {_code(row.names, 'tf.{}')} | {_folders(row)} |\n"
    yield "| `tf.compat.v2.<name>` | where `tf.<name>` is; `*/compat_v2.py` if arguments differ |\n"
    yield "| `tf.<name>`, also `tf.<space>.<name>`: `tf.add` | where `tf.<space>.<name>` is |\n"
    for row in TOP:
        words = row.holds if row.holds.startswith("`") else f"`tf.<name>`: {row.holds}"
        yield f"| {words} | {_folders(row)} |\n"
    yield (
        f"| `tf.contrib.<space>.<name>` | `contrib/<space>/` ({_code(COMMON)}) or"
        " `../stillflow_contrib/<space>/`; else where `tf.<space>.<name>` would be |\n"
    )
    others = "; ".join(f"{_code(row.names)}: {_folders(row)}" for row in CONTRIB)
    yield f"| ... which is elsewhere | {others} |\n\n"


def _code(names: str, form: str = "{}") -> str:
    return ", ".join(f"`{form.format(name)}`" for name in names.split())


def _folders(row: Row) -> str:
    names = row.folders.split()
    return ", ".join(f"`{name}`" if name.endswith(".py") else f"`{name}/`" for name in names)


def with_table(text: str) -> str:
    """Return the page with the table as it has to be."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "".join(page()) + END + rest.partition(END)[2]


def main(arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT / "src"))
    from stillflow._namespace import public_names

    table = public_names()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="names whose home is guessed")
    parser.add_argument("--write", action="store_true", help="write the table of the page")
    flags = parser.parse_args(arguments)
    rule = Rule(table)
    if flags.write:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for name in flags.names:
        plain = name.removeprefix("tf.")
        print(name, *rule.guess(plain, table.get(plain, "").startswith("protos:")))
    if not flags.names and not flags.write:
        named = objects(table)
        missed = {
            name: target
            for name, target in named.items()
            if not is_found(target, rule.guess(name, target.startswith("protos:")))
        }
        print(*(f"{name}  {target}" for name, target in sorted(missed.items())), sep="\n")
        print(f"{len(named) - len(missed)} of {len(named)} public objects are where the rule says")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
