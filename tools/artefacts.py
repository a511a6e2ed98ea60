"""Comparison of published TF1 files' outputs here with those of TensorFlow 1.15.5.

    python tools/artefacts.py DIR [name ...]

DIR has an index.json, whose rows name files, and arrays of the inputs (`in|tensor`) and outputs
(`out|tensor`). Prints a line a row; exits with 1 if any differs.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.protos import Example, GraphDef

TOLERANCE = 1e-5  # of the largest value


class Different(Exception):
    """Difference from TensorFlow 1.15.5's answer."""


def same(name: str, got: Any, wanted: Any) -> None:
    """Raise Different unless two arrays agree."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.dtype == object:
        got = got.astype("S")
    if got.shape != wanted.shape:
        raise Different(f"{name}: shape {got.shape}, not {wanted.shape}")
    if wanted.dtype.kind in "fc" and wanted.size:
        error, scale = np.abs(got - wanted).max(), max(np.abs(wanted).max(), 1e-30)
        if not error <= TOLERANCE * scale:
            raise Different(f"{name}: differs by {error / scale:.2g} of the largest value")
    elif not np.array_equal(got, wanted):
        raise Different(f"{name}: {np.count_nonzero(got != wanted)} of {got.size} differ")


def equal(name: str, got: Any, wanted: Any) -> None:
    """Raise Different unless two things are the same."""
    if got != wanted:
        raise Different(f"{name}: {got}, not {wanted}")


def arrays_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs and outputs, by name."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    return tuple(
        {key[len(kind) :]: value for key, value in arrays.items() if key.startswith(kind)}
        for kind in ("in|", "out|")
    )


@contextlib.contextmanager
def new_session() -> Iterator[Any]:
    """Return a session with a new graph."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def graph_def(path: Path) -> Any:
    """Return a GraphDef, binary or text."""
    if path.suffix == ".pbtxt":
        from google.protobuf import text_format

        return text_format.Parse(path.read_bytes(), GraphDef())
    return GraphDef.FromString(path.read_bytes())


def ask(session: Any, folder: Path, io: str) -> None:
    """Feed the inputs and compare the outputs."""
    feeds, answers = arrays_of(folder.parent / io)
    graph = session.graph
    feed = {tensor_named(graph, name): value for name, value in feeds.items()}
    for name, wanted in answers.items():
        tensor = tensor_named(graph, name)
        got = session.run(tensor, feed)
        if is_random(tensor):
            equal(f"shape of {name}", got.shape, wanted.shape)
        else:
            same(name, got, wanted)


def tensor_named(graph: Any, name: str) -> Any:
    """Return a tensor by its name, or by that in a signature.

    "logits" are the inputs of a loss.
    """
    if name == "logits":
        losses = "SparseSoftmaxCrossEntropyWithLogits"
        (loss,) = (op for op in graph.get_operations() if op.type == losses)
        return loss.inputs[0]
    return graph.get_tensor_by_name(name if ":" in name else f"{name.rpartition('|')[2]}:0")


def is_random(tensor: Any) -> bool:
    """Return True if a tensor is drawn without a seed."""
    waiting, seen = [tensor.op], set()
    while waiting:
        op = waiting.pop()
        if op.type.startswith("Random") and not op.get_attr("seed"):
            return True
        seen.add(op)
        waiting.extend(source.op for source in op.inputs if source.op not in seen)
    return False


def frozen_graph(row: dict[str, Any], folder: Path) -> None:
    """One GraphDef with its values inside."""
    graph = folder / row["graph"]
    with new_session() as session:
        tf.import_graph_def(graph_def(graph), name="")
        equal("nodes", len(session.graph.get_operations()), row["nodes"])
        ask(session, folder, row["io"])


def frozen_graphs(row: dict[str, Any], folder: Path) -> None:
    """Many GraphDefs, each with an .io.npz."""
    count = 0
    for path in sorted(folder.glob("*.pb")):
        io = path.with_suffix(".io.npz")
        if io.exists():
            with new_session() as session:
                tf.import_graph_def(graph_def(path), name="")
                try:
                    ask(session, folder, f"{folder.name}/{io.name}")
                except Different as error:
                    raise Different(f"{path.name}: {error}") from None
            count += 1
    equal("graphs", count, row["outputs"]["graphs_ok"])


def checkpoint_with_graph(row: dict[str, Any], folder: Path) -> None:
    """Check a MetaGraph with the values of its variables."""
    with new_session() as session:
        saver = tf.train.import_meta_graph(str(folder / row["graph"]))
        from stillflow.protos import MetaGraphDef

        stored = MetaGraphDef.FromString((folder / row["graph"]).read_bytes())
        equal("nodes", len(session.graph.get_operations()), len(stored.graph_def.node))
        session.run(tf.global_variables_initializer())  # some variables are not in the checkpoint
        saver.restore(session, str(folder / row["checkpoint"]))
        if "params" in row:
            values = session.run(tf.global_variables())
            values = [value for value in values if value.dtype.kind == "f"]
            total = sum(float(np.abs(value.astype(np.float64)).sum()) for value in values)
            same("sum of variables", np.float32(total), np.float32(row["var_abs_sum"]))
        ask(session, folder, row["io"])


def checkpoint(row: dict[str, Any], folder: Path) -> None:
    """Check the values of variables."""
    reader = tf.train.NewCheckpointReader(str(folder / row["checkpoint"]))
    _, answers = arrays_of(folder.parent / row["io"])
    equal("variables", len(reader.get_variable_to_shape_map()), row["variables"])
    for name, wanted in answers.items():
        got = reader.get_tensor(name.replace("%", "/"))
        same(name, got, wanted)


def saved_model(row: dict[str, Any], folder: Path) -> None:
    """Check a SavedModel through its signatures."""
    path = folder if (folder / "saved_model.pb").exists() else folder / "saved_model"
    feeds, answers = arrays_of(folder.parent / row["io"])
    with new_session() as session:
        meta_graph = tf.saved_model.load(session, ["serve"], str(path))
        graph = session.graph
        equal("nodes", len(graph.get_operations()), row["nodes"])
        keys = {name.partition("|")[0] for name in answers}
        # A counter was incremented, read and reset.
        for key in sorted(keys, key=lambda key: (key.partition("_")[0] != "incr", key)):
            signature = meta_graph.signature_def[key]
            feed = {
                graph.get_tensor_by_name(signature.inputs[name.partition("|")[2]].name): value
                for name, value in feeds.items()
                if name.startswith(f"{key}|")
            }
            for name, wanted in answers.items():
                if name.startswith(f"{key}|"):
                    tensor = signature.outputs[name.partition("|")[2]].name
                    same(name, session.run(graph.get_tensor_by_name(tensor), feed), wanted)


def graph_alone(row: dict[str, Any], folder: Path) -> None:
    """Check a MetaGraph without values."""
    with new_session() as session:
        if "graph" in row:
            tf.train.import_meta_graph(str(folder / row["graph"]))
        else:
            from stillflow.protos import SavedModel

            model = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
            tf.train.import_meta_graph(model.meta_graphs[0])
            equal(
                "signatures", sorted(model.meta_graphs[0].signature_def), sorted(row["signatures"])
            )
        equal("nodes", len(session.graph.get_operations()), row["nodes"])


def text_graphs(row: dict[str, Any], folder: Path) -> None:
    """GraphDefs as text; some are damaged, and TensorFlow says how."""
    wrong = []
    for name, wanted in row["outputs"].items():
        path = folder / name
        if not path.exists():
            (path,) = folder.parent.glob(f"*/{name}")
        try:
            with tf.Graph().as_default() as graph:
                tf.import_graph_def(graph_def(path), name="")
                got: Any = len(graph.get_operations())
        except (ValueError, tf.errors.OpError, NotImplementedError) as error:
            got = f"ERR {error}"
        if got != wanted and not (isinstance(wanted, str) and str(got).startswith(wanted)):
            wrong.append(f"{name}: {str(got)[:160]!r}, not {wanted!r}")
    if wrong:
        raise Different("; ".join(wrong))


def records(row: dict[str, Any], folder: Path) -> None:
    """TFRecord files of Examples."""
    for name, wanted in row["outputs"].items():
        contents = list(tf.python_io.tf_record_iterator(str(folder / name)))
        equal("records", len(contents), wanted["records"])
        equal("checksum", hashlib.sha256(contents[0]).hexdigest(), wanted["first_sha256"])
        features = {}
        for key, feature in Example.FromString(contents[0]).features.feature.items():
            kind = feature.WhichOneof("kind")
            features[key] = [kind, len(getattr(feature, kind).value)]
        equal("features", features, wanted["first_features"])


def event_files(row: dict[str, Any], folder: Path) -> None:
    """Event files of TensorBoard's."""
    for name, wanted in row["outputs"].items():
        events = list(tf.train.summary_iterator(str(folder / name)))
        kinds = Counter(event.WhichOneof("what") for event in events)
        tags = Counter(
            f"{value.tag}:{value.WhichOneof('value')}"
            for event in events
            for value in event.summary.value
        )
        equal("events", len(events), wanted["events"])
        equal("kinds", dict(kinds), wanted["kinds"])
        equal("tags", dict(tags), wanted["tags"])


JUDGES = {
    "frozen GraphDef": frozen_graph,
    "frozen GraphDefs": frozen_graphs,
    "checkpoint+meta": checkpoint_with_graph,
    "V1 checkpoint+meta": checkpoint_with_graph,
    "V1 sharded checkpoint+meta": checkpoint_with_graph,
    "checkpoint": checkpoint,
    "V1 checkpoint": checkpoint,
    "SavedModel": saved_model,
    "SavedModel graph only": graph_alone,
    "meta graph only": graph_alone,
    "text GraphDefs": text_graphs,
    "TFRecord": records,
    "event files": event_files,
}


def main() -> int:
    """Judges the rows named, or all; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kit", type=Path, metavar="DIR", help="the folder with index.json")
    parser.add_argument("names", nargs="*", metavar="name", help="a row; all by default")
    arguments = parser.parse_args()
    kit = arguments.kit
    rows = json.loads((kit / "index.json").read_text())
    rows = [row for row in rows if not arguments.names or row["name"] in arguments.names]
    good = 0
    for row in rows:
        start = time.perf_counter()
        try:
            JUDGES[row["kind"]](row, kit / row["name"])
            verdict, good = "same", good + 1
        except Different as error:
            verdict = f"DIFFERENT  {error}"
        except Exception as error:
            text = f"{type(error).__name__}: {error}".replace("\n", " ")
            verdict = f"FAILED     {text[:300]}"
        seconds = time.perf_counter() - start
        print(f"{row['name']:<36}{row['kind']:<28}{seconds:6.2f} s  {verdict}", flush=True)
    print(f"{good} of {len(rows)} rows answer the same")
    return int(good < len(rows))


if __name__ == "__main__":
    sys.exit(main())
