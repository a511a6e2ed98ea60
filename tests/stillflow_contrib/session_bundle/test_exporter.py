"""Exports of the time before SavedModels: what is in them, which stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import stillflow as tf
from stillflow import protos
from stillflow_contrib.session_bundle import exporter, gc

MANIFEST = protos.file("tensorflow/contrib/session_bundle/manifest.proto")


def ready(folder: Path, **options: object) -> tuple[exporter.Exporter, tf.Session]:
    """Return an exporter of a model with a variable, an asset and signatures."""
    (folder / "words.txt").write_text("a b")
    asset = tf.constant(str(folder / "words.txt"), name="words")
    with tf.device("/cpu:0"):
        v = tf.Variable(10.0, name="v")
    derived = tf.Variable(0.0, name="derived", collections=[])
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    made = exporter.Exporter(tf.train.Saver([v]))
    made.init(
        init_op=tf.group(derived.assign(v * 2), name="derive"),
        default_graph_signature=exporter.classification_signature(v, scores_tensor=derived),
        named_graph_signatures={
            "all": exporter.generic_signature({"input": v}),
            "one": exporter.regression_signature(v, derived),
        },
        assets_collection=[asset],
        **options,
    )
    return made, session


def unpacked(meta_graph: object, key: str, kind: str) -> object:
    """Return the only message in a collection."""
    (packed,) = meta_graph.collection_def[key].any_list.value  # type: ignore[attr-defined]
    message = MANIFEST[kind]() if kind in MANIFEST else getattr(protos, kind)()
    assert packed.Unpack(message)
    return message


def test_an_export_has_variables_graph_signatures_and_assets(tmp_path: Path) -> None:
    made, session = ready(tmp_path, clear_devices=True)
    path = made.export(str(tmp_path / "exports") + "/", tf.constant(7), session).decode()
    assert os.path.basename(path) == "00000007"
    assert Path(path, "assets", "words.txt").read_text() == "a b"
    meta_graph = protos.MetaGraphDef.FromString(Path(path, "export.meta").read_bytes())
    signatures = unpacked(meta_graph, "serving_signatures", "Signatures")
    assert signatures.default_signature.classification_signature.scores.tensor_name == "derived:0"
    assert signatures.named_signatures["all"].generic_signature.map["input"].tensor_name == "v:0"
    assert signatures.named_signatures["one"].regression_signature.output.tensor_name == "derived:0"
    graph_def = unpacked(meta_graph, "serving_graph", "GraphDef")
    assert {node.device for node in graph_def.node} == {""}
    asset = unpacked(meta_graph, "serving_assets", "AssetFile")
    assert (asset.filename, asset.tensor_binding.tensor_name) == ("words.txt", "words:0")
    assert list(meta_graph.collection_def["serving_init_op"].node_list.value) == ["derive"]
    with tf.Graph().as_default(), tf.Session() as again:
        tf.train.import_meta_graph(path + "/export.meta").restore(again, path + "/export")
        assert again.run("v:0") == 10


def test_exports_are_never_overwritten_and_old_ones_go(tmp_path: Path) -> None:
    made, session = ready(tmp_path)
    base = str(tmp_path / "exports")
    for number in range(1, 5):
        made.export(
            base, tf.constant(number), session, exports_to_keep=gc.largest_export_versions(2)
        )
    assert sorted(os.listdir(base)) == ["00000003", "00000004"]
    with pytest.raises(RuntimeError, match="Duplicate export dir"):
        made.export(base, tf.constant(4), session)
    with pytest.raises(RuntimeError, match="only once"):
        made.init()
    with pytest.raises(RuntimeError, match="init must be called first"):
        exporter.Exporter(tf.train.Saver(tf.global_variables())).export(base, 9, session)


@pytest.mark.parametrize("bad", [3, tf.constant(1), tf.constant(["a", "b"])])
def test_assets_are_constant_paths(tmp_path: Path, bad: object) -> None:
    made = exporter.Exporter(tf.train.Saver([tf.Variable(1.0)]))
    with pytest.raises(TypeError):
        made.init(assets_collection=[bad])


def test_what_is_kept() -> None:
    paths = [gc.Path("a", 0), gc.Path("b", 3), gc.Path("c", 4), gc.Path("d", 8)]

    def numbers(keep: gc.Keep) -> list[int | None]:
        return [path.export_version for path in keep(paths)]

    assert numbers(gc.largest_export_versions(2)) == [4, 8]
    assert numbers(gc.one_of_every_n_export_versions(3)) == [3, 4, 8]
    assert numbers(gc.mod_export_version(4)) == [0, 4, 8]
    either = gc.union(gc.largest_export_versions(1), gc.mod_export_version(3))
    assert numbers(either) == [0, 3, 8]
    assert numbers(gc.negation(either)) == [4]
