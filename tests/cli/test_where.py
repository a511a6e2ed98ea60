"""`python -m stillflow where`: the file, line and operations of a name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import stillflow
from stillflow.cli import where
from stillflow.cli.locating.cards import place_of_card
from stillflow.graph import card

SOURCES = Path(stillflow.__file__).parents[1]


def line(file: str, number: int) -> str:
    return (SOURCES / file).read_text(encoding="utf-8").splitlines()[number - 1]


def asked(capsys: pytest.CaptureFixture[str], *names: str) -> list[dict]:
    assert where.main(["--json", *names]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_function_has_its_line_and_the_card_of_its_operation(capsys) -> None:
    (found,) = asked(capsys, "tf.nn.conv2d")
    assert (found["file"], found["kind"]) == ("stillflow/ops/nn/conv.py", "function")
    assert "@export" in line(found["file"], found["line"])
    file, _, number = found["operations"]["Conv2D"].rpartition(":")
    assert line(file, int(number)).startswith("conv2d_op = op(")


@pytest.mark.parametrize(
    "name, file, kind",
    [
        ("tf.train.Saver", "stillflow/train/saver.py", "class"),
        ("tensorflow.float32", "stillflow/graph/dtypes.py", "value"),
        ("contrib.crf.crf_decode", "stillflow_contrib/crf/decode.py", "function"),
        ("tf.nn", "stillflow/nn/__init__.py", "module"),
        ("tensorflow.python.ops.array_ops.concat", "stillflow/ops/arrays/concat.py", "function"),
        ("Conv2D", "stillflow/ops/nn/conv.py", "operation"),
        ("tf.compat.v1.nn.conv2d", "stillflow/ops/nn/conv.py", "function"),
        ("tf.train.Saver.save", "stillflow/train/saver.py", "function"),
        ("tf.flags.DEFINE_string", "stillflow/platform/flags.py", "function"),
        ("tf.keras.Model.fit", "stillflow/keras/engine/training.py", "function"),
        ("tf.Tensor.shape", "stillflow/graph/operation.py", "value"),
    ],
)
def test_a_name_of_any_kind_has_its_file(name: str, file: str, kind: str, capsys) -> None:
    (found,) = asked(capsys, name)
    assert (found["file"], found["kind"]) == (file, kind)
    assert "tensorflow" not in sys.modules  # nothing is served in this process


@pytest.mark.parametrize(
    "name, file, text",
    [
        ("tf.AUTO_REUSE", "stillflow/variables/scope.py", "AUTO_REUSE"),
        ("tf.logging.INFO", "stillflow/platform/tf_logging.py", "INFO"),
        ("tf.train.Example", "stillflow/protos/public.py", '"train.Example"'),
        ("tf.compat.v2.cond", "stillflow/ops/control_flow/compat_v2.py", "cond"),
    ],
)
def test_a_name_without_a_definition_of_its_own_has_the_line_that_binds_it(
    name: str, file: str, text: str, capsys
) -> None:
    (found,) = asked(capsys, name)
    assert found["file"] == file
    assert text in line(found["file"], found["line"])


def test_a_function_that_hands_its_arguments_on_calls_the_one_of_tf(capsys) -> None:
    (found,) = asked(capsys, "tf.compat.v2.cond")
    assert "tf.cond" in found["calls"]
    (found,) = asked(capsys, "tf.compat.v2.reduce_sum")
    assert "tf.reduce_sum" in found["calls"]


def test_a_composition_says_what_it_calls_and_what_it_makes_itself(capsys) -> None:
    (found,) = asked(capsys, "tf.nn.dynamic_rnn")
    assert {"tf.while_loop", "tf.shape", "tf.zeros"} <= set(found["calls"])
    (found,) = asked(capsys, "tf.reduce_sum")
    assert list(found["operations"]) == ["Sum"]


def test_every_card_has_the_statement_that_makes_it() -> None:
    ops = [name for name in card.load_all() if not name.startswith("_")]
    places = {name: place_of_card(name) for name in ops}
    homes = "stillflow/ops/", "stillflow_contrib/ops/"
    assert all(place.file.startswith(homes) for place in places.values())
    lines = {name: line(*place) for name, place in places.items()}
    assert "FFT3D" in places and all(text.strip() for text in lines.values())


def test_an_unknown_name_is_an_error_that_names_its_neighbours(capsys) -> None:
    assert where.main(["tf.nn.dynamic_rn", "tf.add"]) == 1
    said = capsys.readouterr()
    assert "there is no tf.nn.dynamic_rn; is it tf.nn.dynamic_rnn" in said.err
    assert said.out.startswith("tf.add\n  served by  stillflow/ops/math/binary.py:")
