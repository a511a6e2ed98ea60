"""Graphs from outside: only operations of allowed effects run, for any caller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.functional.defun import Defun
from stillflow.graph import card as cards
from stillflow.graph import trust
from stillflow.protos import AssetFileDef, SavedModel
from stillflow.tools import saved_model_cli

REACHING = {
    "ReadFile": ("reads files", lambda path: tf.read_file(path)),
    "WriteFile": ("writes files", lambda path: tf.write_file(path, "x")),
    "ImmutableConst": ("reads files", lambda path: tf.raw_ops.ImmutableConst(
        dtype=tf.uint8, shape=[2], memory_region_name=path)),
    "MatchingFiles": ("reads files", lambda path: tf.matching_files(path)),
    "PyFunc": ("runs Python", lambda path: tf.py_func(lambda: 1, [], tf.int64)),
    "PyFuncStateless": ("runs Python", lambda path: tf.py_func(
        lambda: 1, [], tf.int64, stateful=False)),
    "EagerPyFunc": ("runs Python", lambda path: tf.py_function(lambda: 1, [], tf.int64)),
    "PrintV2": ("writes files", lambda path: tf.print("x", output_stream=f"file://{path}")),
    "SaveV2": ("writes files", lambda path: tf.raw_ops.SaveV2(
        prefix=path, tensor_names=["a"], shape_and_slices=[""], tensors=[1.0])),
    "RestoreV2": ("reads files", lambda path: tf.raw_ops.RestoreV2(
        prefix=path, tensor_names=["a"], shape_and_slices=[""], dtypes=[tf.float32])),
    "TextLineDataset": ("reads files", lambda path: _first(tf.data.TextLineDataset(path))),
    "CacheDataset": ("writes files", lambda path: _first(tf.data.Dataset.range(2).cache(path))),
    "DebugIdentity": ("writes files", lambda path: tf.raw_ops.DebugIdentity(
        input=1.0, debug_urls=[f"file://{path}"])),
    "CreateSummaryFileWriter": ("writes files", lambda path: tf.raw_ops.CreateSummaryFileWriter(
        writer=tf.raw_ops.SummaryWriter(), logdir=path, max_queue=1, flush_millis=1,
        filename_suffix="")),
}  # fmt: skip


def _first(dataset: Any) -> Any:
    return tf.data.make_one_shot_iterator(dataset).get_next()


def _graph_def(make: Any, path: str) -> tuple[Any, str]:
    with tf.Graph().as_default() as graph:
        made = make(path)
        made = made[0] if isinstance(made, (list, tuple)) and made else made
        name = made.name if isinstance(made, (tf.Operation, tf.Tensor)) else ""
        return graph.as_graph_def(), name or graph.get_operations()[-1].name


@pytest.mark.parametrize("op_type", REACHING)
def test_a_graph_from_outside_does_not_reach_out(op_type: str, tmp_path: Path) -> None:
    effect, make = REACHING[op_type]
    path = str(tmp_path / "there")
    graph_def, name = _graph_def(make, path)
    assert op_type in trust.effects_of(graph_def)[effect] or cards.get(op_type).effect == effect
    with trust.limited(), tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.Session() as session, pytest.raises(tf.errors.PermissionDeniedError) as raised:
            session.run(name)
        assert op_type in raised.value.message
        assert "only these effects are allowed: pure, state" in raised.value.message
    assert not list(tmp_path.iterdir())


def test_every_card_states_one_effect() -> None:
    found = {card.effect for card in cards.load_all().values()}
    assert found == set(trust.EFFECTS)


def test_computing_and_state_are_allowed() -> None:
    with trust.limited(), tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        cached = tf.data.Dataset.range(3).cache()
        numbers = tf.data.make_one_shot_iterator(cached).get_next()
        assert session.run([tf.assign_add(v, 1.0), numbers]) == [2.0, 0]
        session.run(tf.print("shown"))


def test_functions_loops_and_datasets_are_looked_into(tmp_path: Path) -> None:
    file = tmp_path / "there"
    file.write_text("text")

    @tf.function
    def body(x: Any) -> Any:
        return tf.read_file(x)

    makers = [
        lambda: body(str(file)),
        lambda: tf.cond(tf.constant(True), lambda: tf.read_file(str(file)), lambda: ""),
        lambda: tf.while_loop(
            lambda i, _: i < 1, lambda i, _: (i + 1, tf.read_file(str(file))), [0, ""]
        )[1],
        lambda: tf.map_fn(tf.read_file, tf.constant([str(file)])),
        lambda: tf.data.make_one_shot_iterator(
            tf.data.Dataset.from_tensors(str(file)).map(tf.read_file)
        ).get_next(),
    ]
    for make in makers:
        with tf.Graph().as_default() as graph:
            name = make().name
            graph_def = graph.as_graph_def()
            with tf.Session() as session:
                assert "text" in str(session.run(name))  # a program's own graph is trusted
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.import_graph_def(graph_def, name="")
            trust.limit(graph)
            with pytest.raises(tf.errors.PermissionDeniedError):
                session.run(name)
            trust.limit(graph, ["reads files"])
        with tf.Session(graph=graph) as session:
            assert "text" in str(session.run(name))


def test_a_graph_in_a_string_obeys_too(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("text\n")
    with tf.Graph().as_default() as graph:
        variant = tf.raw_ops.TextLineDataset(
            filenames=[str(file)], compression_type="", buffer_size=0
        )
        inner = graph.as_graph_def()
        node = inner.node.add(name="end", op="_Retval")
        node.input.append(variant.op.name)
        node.attr["T"].type = tf.variant.as_datatype_enum
        node.attr["index"].i = 0
    with tf.Graph().as_default() as graph, tf.Session() as session:
        made = tf.raw_ops.DatasetFromGraph(graph_def=inner.SerializeToString())
        assert trust.effects_of(graph.as_graph_def()) == {trust.HIDDEN: ["DatasetFromGraph"]}
        counted = tf.raw_ops.DatasetCardinality(input_dataset=made)
        session.run(counted)
        trust.limit(graph)
        with pytest.raises(tf.errors.PermissionDeniedError, match="TextLineDataset"):
            session.run(counted)


def test_plans_made_before_are_made_again(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("text")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        content = tf.read_file(str(tmp_path / "there"))
        assert session.run(content) == b"text"
        trust.limit(graph)
        with pytest.raises(tf.errors.PermissionDeniedError):
            session.run(content)
        trust.limit(graph, "all")
        assert session.run(content) == b"text"


def test_no_such_effect() -> None:
    with pytest.raises(ValueError, match="not 'reads'"), trust.limited("reads"):
        pass


# ---- SavedModels


@pytest.fixture(params=["plain", "reading"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a model with a variable and a table from a file, which may read another file too."""
    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_text("a\nb\n")
    folder = str(tmp_path / request.param)
    with tf.Graph().as_default(), tf.Session() as session:
        words = tf.placeholder(tf.string, [None], name="words")
        v = tf.get_variable("v", initializer=2.0)
        table = tf.contrib.lookup.index_table_from_file(str(vocabulary))
        outputs = {"y": tf.cast(table.lookup(words), tf.float32) * v}
        if request.param == "reading":
            outputs["z"] = tf.read_file(str(vocabulary))
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        tf.saved_model.simple_save(
            session, folder, {"words": words}, outputs, legacy_init_op=tf.tables_initializer()
        )
    return folder


def test_a_model_is_loaded_with_its_own_files(model: str) -> None:
    with trust.limited():
        if model.endswith("reading"):
            predictor = tf.contrib.predictor.from_saved_model(model)
            with pytest.raises(tf.errors.PermissionDeniedError, match="ReadFile reads files"):
                predictor({"words": ["b"]})
            return
        predictor = tf.contrib.predictor.from_saved_model(model)
    assert predictor({"words": ["b"]})["y"].tolist() == [2.0]
    with (
        tf.Session(graph=predictor.graph) as session,
        pytest.raises(tf.errors.PermissionDeniedError, match="RestoreV2 reads files"),
    ):
        session.run("save/restore_all")  # of the file that the graph names


def test_the_command_line_trusts_on_request(model: str, capsys: Any) -> None:
    arguments = [
        "run", "--dir", model, "--tag_set", "serve", "--signature_def", "serving_default",
        "--input_exprs", 'words=["b"]',
    ]  # fmt: skip
    if model.endswith("reading"):
        with pytest.raises(tf.errors.PermissionDeniedError):
            saved_model_cli.main(arguments)
        arguments += ["--trust", "all"]
    saved_model_cli.main(arguments)
    assert "Result for output key y:\n[2.]" in capsys.readouterr().out
    saved_model_cli.main(["scan", "--dir", model])
    said = capsys.readouterr().out
    assert ("ReadFile" in said) == model.endswith("reading")
    assert "InitializeTableFromTextFileV2" in said
    assert "RestoreV2" not in said  # the saver's, which reads what its caller names


def test_assets_stay_in_their_folder(model: str) -> None:
    path = Path(model) / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    packed = message.meta_graphs[0].collection_def["saved_model_assets"].any_list.value[0]
    asset = AssetFileDef.FromString(packed.value)
    asset.filename = "../../../../etc/passwd"
    packed.value = asset.SerializeToString()
    path.write_bytes(message.SerializeToString())
    with (
        trust.limited(),
        tf.Session(graph=tf.Graph()) as session,
        pytest.raises(tf.errors.PermissionDeniedError, match="outside of"),
    ):
        tf.saved_model.load(session, ["serve"], model)


# ---- Objects of SavedModels


class Reader(tf.Module):
    """A model with a variable, a table of a file, and functions that read any file."""

    def __init__(self, vocabulary: str) -> None:
        super().__init__()
        self.v = tf.Variable(2.0)
        initializer = tf.contrib.lookup.TextFileInitializer(
            vocabulary, tf.string, tf.contrib.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64, tf.contrib.lookup.TextFileIndex.LINE_NUMBER,
        )  # fmt: skip
        self.table = tf.lookup.StaticHashTable(initializer, -1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def look_up(self, words: Any) -> Any:
        return tf.cast(self.table.lookup(words), tf.float32) * self.v

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def read(self, path: Any) -> Any:
        return tf.read_file(path)

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def first_line(self, path: Any) -> Any:
        lines = tf.data.Dataset.from_tensors(path).flat_map(tf.data.TextLineDataset)
        return tf.data.experimental.get_single_element(lines.take(1))

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def read_for_gradients(self, x: Any) -> Any:
        return x * tf.cast(tf.strings.length(tf.read_file("/etc/passwd")), tf.float32)


@pytest.fixture
def objects(tmp_path: Path) -> str:
    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_text("a\nb\n")
    folder = str(tmp_path / "objects")
    with ImmediateGraph().as_default():
        model = Reader(str(vocabulary))
        tf.saved_model.save(model, folder)
    return folder


def test_objects_are_loaded_with_their_own_files(objects: str) -> None:
    file = f"{objects}/assets/vocabulary.txt"
    with ImmediateGraph().as_default():
        with trust.limited():
            model = tf.saved_model.load_v2(objects)
        assert model.look_up(tf.constant(["b"])).numpy().tolist() == [2.0]
        for function in (model.read, model.first_line):
            with pytest.raises(tf.errors.PermissionDeniedError, match="reads files"):
                function(tf.constant(file))

        @tf.function
        def around(path: Any) -> Any:
            return model.read(path)

        with pytest.raises(tf.errors.PermissionDeniedError, match="ReadFile reads files"):
            around(tf.constant(file))
        x = tf.constant(1.0)
        with tf.GradientTape() as tape, pytest.raises(tf.errors.PermissionDeniedError):
            tape.watch(x)
            tape.gradient(model.read_for_gradients(x), x)
        trusted = tf.saved_model.load_v2(objects)
        assert trusted.read(tf.constant(file)).numpy() == b"a\nb\n"


def test_functions_of_objects_are_limited_in_graphs(objects: str) -> None:
    file = f"{objects}/assets/vocabulary.txt"
    with tf.Graph().as_default(), tf.Session() as session:
        with trust.limited():
            model = tf.saved_model.load_v2(objects)
        session.run(tf.global_variables_initializer())
        assert session.run(model.v) == 2.0
        x = tf.constant(1.0)
        slopes = tf.gradients(model.read_for_gradients(x), x)
        for made in (model.read(file), model.first_line(file), slopes):
            with pytest.raises(tf.errors.PermissionDeniedError, match="reads files"):
                session.run(made)
        with pytest.raises(tf.errors.PermissionDeniedError, match="InitializeTableFromTextFile"):
            session.run(tf.tables_initializer())


def test_assets_of_objects_stay_in_their_folder(objects: str) -> None:
    path = Path(objects) / "saved_model.pb"
    message = SavedModel.FromString(path.read_bytes())
    message.meta_graphs[0].asset_file_def[0].filename = "../../../../etc/passwd"
    path.write_bytes(message.SerializeToString())
    with (
        ImmediateGraph().as_default(),
        trust.limited(),
        pytest.raises(tf.errors.PermissionDeniedError, match="outside of"),
    ):
        tf.saved_model.load_v2(objects)


def test_a_cluster_does_not_run_limited_graphs() -> None:
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default() as graph:
        one = tf.constant(1)
        trust.limit(graph)
        with (
            tf.Session(server.target) as session,
            pytest.raises(tf.errors.UnimplementedError, match=r"without a target, or trust it"),
        ):
            session.run(one)
        trust.limit(graph, "all")
        with tf.Session(server.target) as session:
            assert session.run(one) == 1


def test_scan_counts_what_a_signature_reaches() -> None:
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=1.0)
        saver = tf.train.Saver([v])
        meta = tf.train.export_meta_graph(saver_def=saver.as_saver_def())
    assert trust.effects_of_model(meta) == {}
    restored = next(n for n in meta.graph_def.node if n.op == "RestoreV2")
    signature = meta.signature_def["serving_default"]
    signature.outputs["y"].name = f"{restored.name}:0"
    assert trust.effects_of_model(meta) == {"reads files": ["RestoreV2"]}


def test_scan_names_unknown_operations() -> None:
    graph = tf.GraphDef()
    graph.node.add(name="a", op="OfALibrary")
    assert trust.effects_of(graph) == {"unknown": ["OfALibrary"]}


def test_effects_of_functions_count() -> None:
    with tf.Graph().as_default() as graph:

        @Defun(tf.string)
        def reads(name: Any) -> Any:
            return tf.read_file(name)

        @Defun(tf.string)
        def doubles(text: Any) -> Any:
            return tf.string_join([text, text])

        tf.identity(reads(tf.constant("a")), name="bad")
        tf.identity(doubles(tf.constant("a")), name="good")
    message = graph.as_graph_def()
    assert trust.effects_of(trust.part_of_outputs(message, ["good:0"])) == {}
    assert trust.effects_of(trust.part_of_outputs(message, ["bad:0"])) == {
        "reads files": ["ReadFile"]
    }
