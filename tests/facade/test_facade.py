"""The name ``tensorflow`` and everything old programs import below it."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import pkgutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import stillflow
from stillflow import _namespace
from stillflow.facade import callers, install, internal, lookup, names
from stillflow.functional import polymorphic

USED = json.loads((Path(__file__).parent / "used_modules.json").read_text())


@pytest.fixture(autouse=True)
def served():
    install.install()
    yield
    install.uninstall()


def python(code, **environment):
    """Run code in a fresh interpreter; return what it printed."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**__import__("os").environ, **environment},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_tensorflow_looks_like_the_real_module():
    import tensorflow as tf

    assert tf.__version__ == "1.15.5" and tf.__stillflow__ is True
    assert tf.__spec__.name == tf.__name__ == tf.__package__ == "tensorflow"
    assert Path(tf.__file__).is_file() and isinstance(tf.__path__, list)
    assert importlib.util.find_spec("tensorflow") is tf.__spec__
    assert "errors" in dir(tf)
    assert list(pkgutil.iter_modules(tf.__path__)) == []


def test_public_names_are_those_of_stillflow():
    import tensorflow as tf

    assert tf.float32 is stillflow.float32
    assert tf.errors.NotFoundError is stillflow.errors.NotFoundError


@pytest.mark.parametrize(
    "statement",
    [
        "import tensorflow.errors as found",
        "from tensorflow import errors as found",
        "from tensorflow.compat.v1 import errors as found",
        "import tensorflow.compat.v1.errors as found",
        "import tensorflow; found = tensorflow.errors",
    ],
)
def test_public_namespaces_can_be_imported(statement):
    scope = {}
    exec(statement, scope)
    assert scope["found"] is stillflow.errors


@pytest.mark.parametrize("module", USED)
def test_modules_that_programs_import_are_there(module):
    assert isinstance(importlib.import_module(module), types.ModuleType)


def test_every_internal_module_can_be_imported():
    for module in names.internal_modules():
        assert importlib.import_module(module) is sys.modules[module]


def test_importing_internal_modules_changes_no_public_namespace():
    for module in names.internal_modules():
        importlib.import_module(module)
    for space in sorted(_namespace.namespaces() - {""}):
        reached = stillflow
        for name in space.split("."):
            reached = getattr(reached, name)
        assert reached is importlib.import_module(f"stillflow.{space}"), space


@pytest.mark.parametrize(
    "statement",
    [
        "from tensorflow.python.framework.errors_impl import NotFoundError as found",
        "from tensorflow.python.framework import errors; found = errors.NotFoundError",
        "import tensorflow.python.framework.errors as e; found = e.NotFoundError",
        "import tensorflow as tf; found = tf.python.framework.errors.NotFoundError",
        "from tensorflow_core.python.framework.errors import NotFoundError as found",
        "from tensorflow._api.v1.errors import NotFoundError as found",
    ],
)
def test_internal_modules_show_public_objects(statement):
    scope = {}
    exec(statement, scope)
    assert scope["found"] is stillflow.errors.NotFoundError


def test_estimators_are_found_in_the_package_that_they_had_of_their_own():
    from tensorflow_estimator.python.estimator import estimator, run_config

    assert estimator.Estimator is stillflow.estimator.Estimator
    assert run_config.RunConfig is stillflow.estimator.RunConfig


def test_heads_are_found_in_the_modules_that_define_them():
    from tensorflow.python.estimator.head import base_head
    from tensorflow_estimator.python.estimator.head import multi_head, regression_head

    assert base_head.Head is stillflow.estimator.Head
    assert multi_head.MultiHead is stillflow.estimator.MultiHead
    assert regression_head.PoissonRegressionHead is stillflow.estimator.PoissonRegressionHead


def test_internal_modules_exist_once():
    import tensorflow.python.framework.dtypes as first
    import tensorflow_core.python.framework.dtypes as second
    from tensorflow.python.framework import dtypes as third

    assert first is second is third


def test_pb2_modules_hold_what_their_file_declares():
    from tensorflow.core.framework import graph_pb2, types_pb2
    from tensorflow.core.protobuf.config_pb2 import ConfigProto

    from stillflow import protos

    assert graph_pb2.GraphDef is protos.GraphDef and ConfigProto is protos.ConfigProto
    assert graph_pb2.DESCRIPTOR.name == "tensorflow/core/framework/graph.proto"
    assert (types_pb2.DT_FLOAT, types_pb2.DataType.Name(3)) == (1, "DT_INT32")
    assert not hasattr(graph_pb2, "NodeDef")
    imported = graph_pb2.tensorflow_dot_core_dot_framework_dot_node__def__pb2
    assert imported.NodeDef is protos.NodeDef
    assert [name for name in dir(graph_pb2) if "_dot_" in name] == [
        f"tensorflow_dot_core_dot_framework_dot_{name}__pb2"
        for name in ("function", "node__def", "versions")
    ]
    scope = {}
    exec("from tensorflow.core.framework.types_pb2 import *", scope)
    assert scope["DT_STRING"] == 7


@pytest.mark.parametrize(
    "expression, message",
    [
        ("tf.no_such_thing", "module 'tensorflow' has no attribute 'no_such_thing'"),
        (
            "tf.python.ops.array_ops.nothing",
            "tensorflow.python.ops.array_ops.nothing is not supported by Stillflow yet",
        ),
    ],
)
def test_missing_names_are_named(expression, message):
    import tensorflow as tf

    with pytest.raises(AttributeError, match=message):
        eval(expression, {"tf": tf})


@pytest.mark.parametrize(
    "statement, message",
    [
        ("from tensorflow import no_such_thing", "'tensorflow' has no attribute 'no_such_thing'"),
        (
            "from tensorflow.python.ops.array_ops import nothing",
            "tensorflow.python.ops.array_ops.nothing is not supported by Stillflow yet",
        ),
        ("from tensorflow.compat.v1 import nothing", "no attribute 'nothing'"),
        (
            "from tensorflow.contrib.checkpoint import capture_dependencies",
            "tf.contrib.checkpoint.capture_dependencies is not supported by Stillflow yet",
        ),
        (
            "from tensorflow.contrib.ffmpeg import decode_audio",
            "tensorflow.contrib.ffmpeg.decode_audio is not supported by Stillflow yet",
        ),
    ],
)
def test_missing_names_are_named_by_import_statements_too(statement, message):
    with pytest.raises(ImportError, match=message):
        exec(statement, {})


def test_modules_that_never_were_are_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow\.nonsense"):
        importlib.import_module("tensorflow.nonsense")
    assert importlib.util.find_spec("tensorflow.python.nonsense") is None
    assert importlib.util.find_spec("tensorflowish") is None


def test_own_equivalents_are_found_by_table(monkeypatch):
    monkeypatch.setitem(
        internal.OBJECTS,
        "tensorflow.python.ops.numerics",
        {
            "add": "operator:add",
            "whole": "operator",
            "*": "fractions math",
        },
    )
    from tensorflow.python.ops import numerics

    assert numerics.add(1, 2) == 3 and numerics.whole.sub(3, 2) == 1
    assert numerics.isqrt(4) == 2 and numerics.Fraction(1, 2) == 0.5
    assert "isqrt" in dir(numerics)


@pytest.fixture
def api(monkeypatch):
    """Provide a public API of a few names."""
    public = {
        "nn.relu": "nn.relu",
        "reduce_sum": "v1 sum",
        "compat.v2.argmax": "v2 argmax",
        "nn.rnn_cell.LSTMCell": "LSTMCell",
        "math.bincount": "bincount",
        "contrib.layers.conv2d": "contrib conv2d",
        "layers.conv2d": "conv2d",
        "shape": "shape",
    }
    monkeypatch.setattr(lookup, "resolve", lambda name: public.get(name, lookup.MISSING))


@pytest.mark.parametrize(
    "module, name, found",
    [
        ("python.ops.nn_ops", "relu", "nn.relu"),  # a hint
        ("python.ops.math_ops", "reduce_sum", "v1 sum"),  # 2.x form not there: 1.x form
        ("python.ops.math_ops", "reduce_sum_v1", "v1 sum"),  # recorded under another name
        ("python.ops.math_ops", "argmax_v2", "v2 argmax"),  # only ever the 2.x form
        ("python.ops.rnn_cell_impl", "LSTMCell", "LSTMCell"),
        ("python.ops.array_ops", "shape", "shape"),
        ("python.layers.convolutional", "conv2d", "conv2d"),
        ("contrib.layers.python.layers.layers", "conv2d", "contrib conv2d"),
        ("contrib.slim.python.slim.learning", "shape", lookup.MISSING),  # contrib keeps to itself
        ("python.ops.math_ops", "_private", lookup.MISSING),
        ("python.ops.rnn", "gen_no_such_ops", lookup.MISSING),
        ("python.eager.def_function", "function", polymorphic.function),  # not the module
    ],
)
def test_names_are_found_by_rule(api, module, name, found):
    assert lookup.lookup(f"tensorflow.{module}", name) == found


def test_modules_show_the_modules_they_import():
    from tensorflow.python.ops import gen_sparse_ops, rnn_cell_impl
    from tensorflow.python.ops.rnn import rnn_cell_impl as again
    from tensorflow.python.ops.sparse_ops import gen_sparse_ops as here

    assert again is rnn_cell_impl and here is gen_sparse_ops


def test_star_import_brings_recorded_names():
    from tensorflow.python.ops import rnn_cell

    assert {"LSTMCell", "GRUCell", "DropoutWrapper"} <= set(rnn_cell.__all__)


def test_generated_functions_take_positions():
    from tensorflow.python.ops import array_ops, gen_nn_ops

    with stillflow.Graph().as_default():
        values = stillflow.constant([3.0])
        assert gen_nn_ops.l2_loss(values, "loss").name == "loss:0"
        assert gen_nn_ops.L2Loss(t=values).op.type == "L2Loss"
        assert array_ops.identity_n([values])[0].op.type == "IdentityN"
        with pytest.raises(TypeError, match="multiple values for argument 't'"):
            gen_nn_ops.l2_loss(values, t=values)
        with pytest.raises(TypeError, match="too many positional arguments"):
            gen_nn_ops.l2_loss(values, "n", 5)
    with pytest.raises(AttributeError, match="not supported"):
        _ = gen_nn_ops.no_op_like_this


# Who sees it.


def test_probing_libraries_see_no_tensorflow(monkeypatch):
    probe = {"__name__": "transformers.utils"}
    look = "import importlib.util; found = importlib.util.find_spec('tensorflow')"
    exec(look, probe)
    assert probe["found"] is None
    import tensorflow  # noqa: F401 - now it is in sys.modules

    exec(look, probe)
    assert probe["found"] is None
    monkeypatch.setenv("STILLFLOW_ALLOW", "keras,transformers")
    exec(look, probe)
    assert probe["found"].name == "tensorflow"


@pytest.mark.parametrize("name, folder, sees", [
    ("datasets", "program", True), ("datasets", "venv/site-packages", False),
    ("torch", "program", True), ("torch", "installed", False), ("torch", "", False),
])  # fmt: skip
def test_folders_of_a_program_see_tensorflow(name, folder, sees, tmp_path, monkeypatch):
    def distribution(asked):
        if asked != "torch":
            raise importlib.metadata.PackageNotFoundError(asked)
        return importlib.metadata.PathDistribution(tmp_path / "installed" / "torch.dist-info")

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    callers._of_program.cache_clear()
    file = str(tmp_path / folder / name / "common.py") if folder else None
    probe = {"__name__": name + ".common", "__file__": file}
    exec("import importlib.util; found = importlib.util.find_spec('tensorflow')", probe)
    assert (probe["found"] is not None) is sees
    callers._of_program.cache_clear()


def test_probing_import_finds_nothing():
    with pytest.raises(ModuleNotFoundError):
        exec("import tensorflow", {"__name__": "tensorboard.compat"})


def test_tensorboard_uses_its_own_stub():
    assert sys.meta_path[0].find_spec("tensorboard.compat.notf") is not None
    assert callers.denied() is False


def test_tensorboard_gets_tensorflow_where_it_is_allowed_to(monkeypatch):
    monkeypatch.setenv("STILLFLOW_ALLOW", "tensorboard")
    assert sys.meta_path[0].find_spec("tensorboard.compat.notf") is None


@pytest.mark.parametrize("installed, sees", [
    ("2.0.8", True), ("2.3.1", True), ("2.4.0", False), ("2.15.0", False), ("3.9.0", False),
    (None, True),
])  # fmt: skip
def test_keras_of_tensorflow_1_sees_it(monkeypatch, installed, sees):
    def version(name):
        if name != "keras" or installed is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(importlib.metadata, "version", version)
    callers._keras_of_old.cache_clear()
    probe = {"__name__": "keras.backend.tensorflow_backend"}
    exec("import importlib.util; found = importlib.util.find_spec('tensorflow')", probe)
    assert (probe["found"] is not None) is sees
    callers._keras_of_old.cache_clear()


@pytest.mark.parametrize("module, sees", [
    ("tensorboard.plugins.pr_curve.summary", True), ("tensorboard.plugins.scalar.summary_v2", True),
    ("tensorboard.util.op_evaluator", True), ("tensorboard.compat", False),
    ("tensorboard.plugins.projector.projector_plugin", False),
])  # fmt: skip
def test_what_builds_graphs_in_tensorboard_sees_tensorflow(module, sees):
    space = {"__name__": module}
    if sees:
        exec("import tensorflow.compat.v1 as tf", space)
        assert space["tf"].constant is not None
    else:
        with pytest.raises(ModuleNotFoundError):
            exec("import tensorflow.compat.v1 as tf", space)


def test_internal_modules_are_found_below_a_public_namespace():
    from tensorflow.contrib.summary import summary

    assert summary.scalar.__module__ == "stillflow.summary.writing"


# Coming and going.


def test_install_and_uninstall_can_be_repeated():
    before = list(sys.meta_path)
    install.install()
    assert sys.meta_path == before
    import tensorflow  # noqa: F401

    install.uninstall()
    install.uninstall()
    assert "tensorflow" not in sys.modules
    assert importlib.util.find_spec is install._find_spec
    assert importlib.util.find_spec("tensorflow") is None
    install.install()
    assert importlib.util.find_spec("tensorflow") is not None


def test_real_tensorflow_is_not_mixed_with(monkeypatch):
    install.uninstall()
    real = types.ModuleType("tensorflow")
    real.__version__, real.__file__ = "2.21.0", "/site/tensorflow/__init__.py"
    monkeypatch.setitem(sys.modules, "tensorflow", real)
    with pytest.raises(ImportError, match=r"real TensorFlow 2\.21\.0 .*python -m stillflow"):
        install.install()
    assert sys.modules["tensorflow"] is real


def test_installed_tensorflow_is_hidden_or_left_alone(tmp_path):
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("__version__ = 'real'")
    (tmp_path / "tensorflow" / "part.py").write_text("")
    code = """
from stillflow.facade.install import install
install(shadow={})
import tensorflow
print(tensorflow.__version__)
try:
    import tensorflow.part
except ImportError:
    print("no part")
"""
    path = f"{tmp_path}{__import__('os').pathsep}{Path(stillflow.__file__).parents[1]}"
    assert python(code.format(True), PYTHONPATH=path) == "1.15.5\nno part"
    assert python(code.format(False), PYTHONPATH=path) == "real"


def test_import_is_light():
    code = """
import sys
from stillflow.facade.install import install
install()
import tensorflow
from tensorflow.python.framework import ops
print(sorted({"torch", "numpy", "google.protobuf"} & set(sys.modules)))
"""
    assert python(code, PYTHONPATH=str(Path(stillflow.__file__).parents[1])) == "[]"


# Missing names on approval.


def test_lenient_stand_ins_wait_with_their_complaint(monkeypatch):
    monkeypatch.setenv("STILLFLOW_LENIENT", "1")
    scope = {}
    exec(
        """
from tensorflow.python.ops.array_ops import nothing
class Child(nothing.Base):
    @nothing
    def method(self): pass
    @nothing("with", arguments=1)
    def other(self): pass
@nothing
def function(): pass
def later(): return nothing(1, 2)
""",
        scope,
    )
    for use in (scope["function"], scope["later"], lambda: scope["Child"]().method()):
        with pytest.raises(AttributeError, match=r"array_ops\.nothing is not supported"):
            use()


def test_classes_of_the_compiler_of_sources_can_be_derived_from():
    scope = {}
    exec(
        """
from tensorflow.python.autograph.pyct import cfg
class Child(cfg.GraphVisitor):
    pass
def later(): return cfg.GraphVisitor(None)
""",
        scope,
    )
    for use in (lambda: scope["Child"](None), scope["later"]):
        with pytest.raises(AttributeError, match=r"cfg\.GraphVisitor is not supported"):
            use()


def test_operations_are_added_to_graphs_or_run_at_once():
    from tensorflow.python import tf2
    from tensorflow.python.eager import context

    with context.graph_mode():
        assert not context.executing_eagerly() and context.context().in_graph_mode()
    assert not tf2.enabled()
    with context.eager_mode():
        assert context.executing_eagerly() and not context.in_graph_mode()
        assert (stillflow.constant(1) + 1).numpy() == 2


def test_whole_modules_are_patched_where_they_are_used(monkeypatch):
    from tensorflow.python.platform import tf_logging

    said = []
    monkeypatch.setattr(tf_logging, "error", said.append)
    stillflow.logging.TaskLevelStatusMessage("heard")
    assert said == ["heard"]


@pytest.mark.parametrize("module, target", internal.MODULES.items())
def test_whole_modules_have_the_recorded_public_names(module, target):
    known = names.internal_module(module)
    found = importlib.import_module(module)
    assert found is importlib.import_module(target)
    for name in known.names if known is not None else ():
        public = known.names[name]
        if not public.startswith("compat.v2.") and lookup.resolve(public) is not lookup.MISSING:
            assert hasattr(found, name), name


def test_every_own_equivalent_is_there():
    for module, table in internal.OBJECTS.items():
        for name, target in table.items():
            for each in target.split():
                path, _, attribute = each.partition(":")
                own = importlib.import_module(path)
                assert not attribute or hasattr(own, attribute), (module, name)


def test_scopes_of_names():
    from tensorflow.python.framework import ops

    assert ops.strip_name_scope("^a/b", "a") == "^b" and ops.strip_name_scope("a", None) == "a"
    assert ops.prepend_name_scope("loc:@b", "a/") == "loc:@a/b"
    assert ops.name_from_scope_name("a/") == "a"
    with stillflow.Graph().as_default(), stillflow.name_scope("s"):
        assert ops.get_name_scope() == "s" and ops.has_default_graph()
    with ops.NullContextmanager():
        assert ops.RegisterShape("Op")(len) is len


def test_error_classes_are_named_as_tensorflow_names_them():
    import pickle

    import tensorflow

    kind = tensorflow.errors.NotFoundError
    assert kind.__module__ == "tensorflow.python.framework.errors_impl"
    error = pickle.loads(pickle.dumps(kind(None, None, "gone")))
    assert type(error) is kind and error.message == "gone"
