"""tf.lite.Interpreter: TensorFlow 1.15.5's outputs, and errors for damaged models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stillflow as tf

RECORDED = Path(__file__).parent / "recorded"
NAMES = sorted(path.stem for path in RECORDED.glob("*.npz"))


def content_of(name):
    return (RECORDED / f"{name}.tflite").read_bytes()


def interpreter_of(name):
    interpreter = tf.lite.Interpreter(model_content=content_of(name))
    interpreter.allocate_tensors()
    return interpreter


def set_inputs(interpreter, arrays):
    for i, detail in enumerate(interpreter.get_input_details()):
        interpreter.set_tensor(detail["index"], arrays[f"in{i}"])


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_tensorflow(name):
    interpreter = interpreter_of(name)
    arrays = np.load(RECORDED / f"{name}.npz")
    set_inputs(interpreter, arrays)
    interpreter.invoke()
    for i, detail in enumerate(interpreter.get_output_details()):
        answer, wanted = interpreter.get_tensor(detail["index"]), arrays[f"out{i}"]
        assert answer.dtype == wanted.dtype and answer.shape == wanted.shape
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(answer, wanted, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(answer, wanted)


def test_details_say_what_tensors_are():
    interpreter = interpreter_of("quantization_aware")
    (detail,) = interpreter.get_input_details()
    assert detail["name"] == "input" and detail["dtype"] is np.uint8
    np.testing.assert_array_equal(detail["shape"], [1, 8, 8, 3])
    assert detail["shape"].dtype == np.int32
    scale, zero_point = detail["quantization"]
    assert scale == pytest.approx(4 / 255) and zero_point == 128
    assert {d["index"] for d in interpreter.get_tensor_details()} >= {detail["index"]}


def test_runs_from_a_file_and_anew_after_other_shapes(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(content_of("layers_with_variables"))
    interpreter = tf.lite.Interpreter(model_path=str(path))
    index = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(index, [3, 10, 10, 1])
    interpreter.allocate_tensors()
    (output,) = interpreter.get_output_details()
    np.testing.assert_array_equal(output["shape"], [3, 6])
    arrays = np.load(RECORDED / "layers_with_variables.npz")
    interpreter.set_tensor(index, np.repeat(arrays["in0"], 3, 0))
    interpreter.invoke()
    np.testing.assert_allclose(
        interpreter.get_tensor(output["index"]), np.repeat(arrays["out0"], 3, 0), rtol=1e-5
    )


def test_tensor_shows_the_memory_of_inputs_and_outputs():
    interpreter = interpreter_of("mlp")
    arrays = np.load(RECORDED / "mlp.npz")
    shown = interpreter.tensor(interpreter.get_input_details()[0]["index"])
    answer = interpreter.tensor(interpreter.get_output_details()[0]["index"])
    assert not answer().any()
    kept = answer()
    shown()[...] = arrays["in0"]
    interpreter.invoke()
    np.testing.assert_allclose(answer(), arrays["out0"], rtol=1e-5)
    np.testing.assert_array_equal(kept, answer())


def test_a_value_inside_the_model_can_be_read():
    interpreter = interpreter_of("mlp")
    set_inputs(interpreter, np.load(RECORDED / "mlp.npz"))
    interpreter.invoke()
    inside = {d["name"]: d["index"] for d in interpreter.get_tensor_details()}
    assert (interpreter.get_tensor(inside["Relu"]) >= 0).all()


@pytest.mark.parametrize(("value", "message"), [
    (np.zeros((2, 8)), "Got tensor of type NOTYPE but expected type FLOAT32 for input"),
    (np.zeros((2, 8), np.int32), "Got tensor of type INT32 but expected type FLOAT32"),
    (np.zeros(16, np.float32), "Dimension mismatch. Got 1 but expected 2 for input"),
    (np.zeros((2, 9), np.float32), "Got 9 but expected 8 for dimension 1 of input"),
])  # fmt: skip
def test_values_that_do_not_fit_are_refused(value, message):
    interpreter = interpreter_of("mlp")
    with pytest.raises(ValueError, match=message):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], value)


def test_indices_that_lead_nowhere_are_refused():
    interpreter = interpreter_of("mlp")
    for get in (lambda: interpreter.get_tensor(99), interpreter.tensor(99)):
        with pytest.raises(ValueError, match="Invalid tensor index 99"):
            get()


def test_running_needs_allocated_tensors():
    interpreter = tf.lite.Interpreter(model_content=content_of("mlp"))
    with pytest.raises(RuntimeError, match="Invoke called on model that is not ready"):
        interpreter.invoke()


def test_a_model_has_to_be_named_once(tmp_path):
    with pytest.raises(ValueError, match="must be specified"):
        tf.lite.Interpreter()
    with pytest.raises(ValueError, match="Can't both provide"):
        tf.lite.Interpreter("model", b"TFL3")
    with pytest.raises(ValueError, match="Could not open"):
        tf.lite.Interpreter(str(tmp_path / "missing.tflite"))


@pytest.mark.parametrize("content", [b"x", b"no model at all", b"\0" * 64, b"\x10\0\0\0TFL3"])
def test_what_is_no_model_is_refused(content):
    with pytest.raises(ValueError, match=r"model identifier|damaged"):
        tf.lite.Interpreter(model_content=content)


@pytest.mark.parametrize("name", ["mlp", "quantization_aware"])
def test_a_model_that_breaks_off_is_refused(name):
    content = content_of(name)
    for end in range(8, len(content) - 1, 37):
        try:
            tf.lite.Interpreter(model_content=content[:end]).allocate_tensors()
        except (ValueError, RuntimeError):
            continue


def test_damage_anywhere_ends_in_an_error_or_an_answer():
    content = content_of("cnn_calibrated")
    random = np.random.RandomState(0)
    for _ in range(60):
        damaged = bytearray(content)
        for place in random.randint(8, len(content), 4):
            damaged[place] = random.randint(256)
        try:
            interpreter = tf.lite.Interpreter(model_content=bytes(damaged))
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError):
            continue


def test_an_operator_that_is_not_supported_is_named():
    from stillflow.lite.schema import OPERATORS, read_model, write_model

    model = read_model(content_of("mlp"))
    model.operator_codes[0].builtin = OPERATORS.index("SVDF")
    with pytest.raises(ValueError, match="operators are not supported by Stillflow: SVDF"):
        tf.lite.Interpreter(model_content=write_model(model))


def test_a_model_too_large_for_memory_is_refused():
    from stillflow.lite.schema import read_model, write_model

    model = read_model(content_of("mlp"))
    (place,) = model.subgraphs[0].inputs
    model.subgraphs[0].tensors[place].shape = [2**31 - 1, 2**31 - 8]
    interpreter = tf.lite.Interpreter(model_content=write_model(model))
    with pytest.raises(RuntimeError, match=r"no memory for tensor input|cannot run this model"):
        interpreter.allocate_tensors()
