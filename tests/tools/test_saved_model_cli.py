"""The command line of SavedModels: what it shows, runs and finds."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stillflow as tf
from stillflow import errors
from stillflow.tools import saved_model_cli as cli

SIGNATURE = """\
The given SavedModel SignatureDef contains the following input(s):
  inputs['x'] tensor_info:
      dtype: DT_FLOAT
      shape: (-1, 2)
      name: x:0
The given SavedModel SignatureDef contains the following output(s):
  outputs['y'] tensor_info:
      dtype: DT_FLOAT
      shape: (-1, 2)
      name: y:0
Method name is: tensorflow/serving/predict
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Write y = 2 x, and a signature that counts serialized examples."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.multiply(x, tf.Variable(2.0, name="v"), name="y")
        examples = tf.placeholder(tf.string, [None], name="examples")
        parsed = tf.parse_example(examples, {"n": tf.FixedLenFeature([], tf.int64)})["n"]
        session.run(tf.global_variables_initializer())
        define = tf.saved_model.predict_signature_def
        builder = tf.saved_model.Builder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(session, ["serve"], {
            "double": define({"x": x}, {"y": y}), "parse": define({"e": examples}, {"n": parsed}),
        })  # fmt: skip
        builder.save()
    return str(tmp_path / "model")


def test_what_is_shown(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["show", "--dir", model])
    assert capsys.readouterr().out.splitlines()[1:] == ["serve"]
    cli.main(["show", "--dir", model, "--tag_set", "serve"])
    assert 'SignatureDef key: "double"\nSignatureDef key: "parse"' in capsys.readouterr().out
    arguments = ["show", "--dir", model, "--tag_set", "serve", "--signature_def", "double"]
    cli.main(arguments)
    assert capsys.readouterr().out == SIGNATURE
    cli.main(["show", "--dir", model, "--all"])
    shown = capsys.readouterr().out
    assert "MetaGraphDef with tag-set: 'serve' contains" in shown
    assert "signature_def['double']:\n  " + SIGNATURE.replace("\n", "\n  ").rstrip() in shown
    with pytest.raises(RuntimeError, match="tag-set train could not be found"):
        cli.main(["show", "--dir", model, "--tag_set", "train"])


@pytest.mark.parametrize("kind", ["npy", "npz", "pickle", "expression"])
def test_what_is_run(
    model: str, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    value = np.float32([[1, 2]])
    path = str(tmp_path / f"in.{kind}")
    if kind == "npy":
        np.save(path, value)
    elif kind == "npz":
        np.savez(path, a=value, b=value + 1)
        path += "[a]"
    elif kind == "pickle":
        Path(path).write_bytes(pickle.dumps(value))
    feed = ["--inputs", f"x={path}"]
    if kind == "expression":
        feed = ["--input_exprs", "x=np.array([[1., 2.]])"]
    arguments = ["run", "--dir", model, "--tag_set", "serve", "--signature_def", "double", *feed]
    arguments += ["--outdir", str(tmp_path / "out")]
    cli.main(arguments)
    assert "Result for output key y:\n[[2. 4.]]" in capsys.readouterr().out
    assert np.load(tmp_path / "out" / "y.npy").tolist() == [[2, 4]]
    with pytest.raises(RuntimeError, match="already exists"):
        cli.main(arguments)
    cli.main([*arguments, "--overwrite"])


def test_examples_are_made(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["run", "--dir", model, "--tag_set", "serve", "--signature_def", "parse",
              "--input_examples", 'e=[{"n": [3]}, {"n": [4]}]'])  # fmt: skip
    assert "Result for output key n:\n[3 4]" in capsys.readouterr().out
    for bad in ("e=3", 'e=[{"n": 3}]', 'e=[{"n": [{}]}]'):
        with pytest.raises(ValueError, match=r"must be a list|not supported"):
            cli.preprocess_input_examples_arg_string(bad)
    with pytest.raises(RuntimeError, match="not a valid python literal"):
        cli.preprocess_input_examples_arg_string("e=print(1)")


def test_pickles_of_anything_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(pickle.dumps(print))
    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.print"):
        cli.load_inputs_from_input_arg_string(f"x={tmp_path}/bad", "", "")


def test_what_is_refused(model: str, tmp_path: Path) -> None:
    run = ["run", "--dir", model, "--tag_set", "serve", "--signature_def", "double"]
    with pytest.raises(AttributeError, match="At least one of"):
        cli.main(run)
    with pytest.raises(ValueError, match='"q" is not a valid input key'):
        cli.main([*run, "--input_exprs", "q=1"])
    with pytest.raises(errors.UnimplementedError, match="tf_debug is not supported"):
        cli.main([*run, "--input_exprs", "x=1", "--tf_debug"])
    with pytest.raises(RuntimeError, match="format is incorrect"):
        cli.preprocess_inputs_arg_string("x")
    np.savez(tmp_path / "two.npz", a=1, b=2)
    for text, problem in (("two.npz", "more than one"), ("two.npz[c]", "does not contain")):
        with pytest.raises(RuntimeError, match=problem):
            cli.load_inputs_from_input_arg_string(f"x={tmp_path}/{text}", "", "")


def test_operations_that_reach_files_are_found(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["scan", "--dir", model])
    assert "does not contain blacklisted ops" in capsys.readouterr().out
    with tf.Graph().as_default(), tf.Session() as session:
        read = tf.read_file(tf.placeholder(tf.string, [], name="f"))
        tf.saved_model.simple_save(session, str(tmp_path / "bad"), {"f": read}, {"r": read})
    cli.main(["scan", "--dir", str(tmp_path / "bad"), "--tag_set", "serve"])
    assert "contains the following blacklisted ops: {'ReadFile'}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["saved_model_cli"], ["-m", "tensorflow.python.tools.saved_model_cli"]]
)
def test_it_is_a_module_and_a_command(model: str, command: list[str]) -> None:
    arguments = [sys.executable, "-m", "stillflow", *command, "show", "--dir", model]
    environment = {"PYTHONPATH": str(Path(tf.__file__).parents[1]), "PATH": ""}
    assert "serve" in subprocess.check_output(arguments, text=True, env=environment)
