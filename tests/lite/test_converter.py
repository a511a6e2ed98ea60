"""tf.lite.TFLiteConverter: TensorFlow 1.15.5's models, or errors with the missing feature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stillflow as tf
from stillflow.lite.flexbuffer import read_map
from stillflow.lite.schema import OPERATORS, read_model
from stillflow.lite.settings import ConverterError

from . import models, record

RECORDED = Path(__file__).parent / "recorded"
NAMES = [
    name
    for name, (model, variant) in record.names().items()
    if model not in record.QUANTIZED and variant not in ("_calibrated", "_integers")
]
IN_INTEGERS = [
    name for name, (_, variant) in record.names().items() if variant in ("_calibrated", "_integers")
]


def operators(content):
    """Return the operators of a model, with their options."""
    model = read_model(content)
    return sorted(
        (OPERATORS[model.operator_codes[step.opcode_index].builtin],
         str(sorted(step.options.__dict__.items()) if step.options else []))
        for step in model.subgraphs[0].operators
    )  # fmt: skip


def custom_operators(content):
    """Return the custom operators of a model, with their versions, options and constant inputs."""
    model = read_model(content)
    graph, found = model.subgraphs[0], []
    for step in graph.operators:
        code = model.operator_codes[step.opcode_index]
        if code.custom:
            options = step.custom_options
            data = [model.buffers[graph.tensors[index].buffer].data for index in step.inputs]
            found.append((
                code.custom,
                code.version,
                None if options is None else read_map(options.tobytes()),
                [None if part is None else part.tobytes() for part in data],
                [graph.tensors[index].type for index in step.outputs],
            ))  # fmt: skip
    return sorted(found, key=str)


@pytest.mark.parametrize("name", NAMES)
def test_models_are_those_of_tensorflow(name):
    model, variant = record.names()[name]
    content = record.converter_of(tf, model, variant).convert()
    arrays = np.load(RECORDED / f"{name}.npz")
    _, answers = record.run(tf, content, model)
    for i, answer in enumerate(answers):
        np.testing.assert_allclose(answer, arrays[f"out{i}"], rtol=1e-5, atol=1e-5)
    assert operators(content) == operators((RECORDED / f"{name}.tflite").read_bytes())


def test_weights_are_stored_in_a_quarter_of_the_space():
    converter = record.converter_of(tf, "wide", "")
    whole = len(converter.convert())
    with pytest.warns(UserWarning, match="post_training_quantize is deprecated"):
        converter.post_training_quantize = True
    assert converter.optimizations == [tf.lite.Optimize.DEFAULT]
    assert len(converter.convert()) < whole / 3


@pytest.fixture
def graph():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4], "x")
        weights = tf.get_variable("weights", initializer=models.weights(4, 3))
        y = tf.nn.relu(tf.matmul(x, weights), "y")
        session.run(tf.global_variables_initializer())
        yield session, x, y


def answers(content):
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    (x,), (y,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.set_tensor(x["index"], np.arange(4, dtype=np.float32)[np.newaxis])
    interpreter.invoke()
    return x["name"], y["name"], interpreter.get_tensor(y["index"])


WANTED = np.maximum(np.arange(4, dtype=np.float32) @ models.weights(4, 3), 0)[np.newaxis]


def check(content, names=("x", "y")):
    *found, values = answers(content)
    assert tuple(found) == names
    np.testing.assert_allclose(values, WANTED, rtol=1e-6)


def test_from_frozen_graph(graph, tmp_path):
    session, _, _ = graph
    frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
    for as_text in (False, True):
        tf.train.write_graph(frozen, str(tmp_path), "graph.pb", as_text=as_text)
        converter = tf.lite.TFLiteConverter.from_frozen_graph(
            str(tmp_path / "graph.pb"), ["x"], ["y"], {"x": [1, 4]}
        )
        assert converter.get_input_arrays() == ["x"]
        check(converter.convert())


def test_from_saved_model(graph, tmp_path):
    session, x, y = graph
    tf.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": y})
    check(tf.lite.TFLiteConverter.from_saved_model(str(tmp_path / "model")).convert())
    check(tf.compat.v2.lite.TFLiteConverter.from_saved_model(str(tmp_path / "model")).convert())
    with pytest.raises(ValueError, match=r"No 'other' in the SavedModel's SignatureDefs"):
        tf.lite.TFLiteConverter.from_saved_model(str(tmp_path / "model"), signature_key="other")


def test_from_keras(tmp_path):
    pytest.importorskip("h5py")
    tf.keras.backend.clear_session()
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, "relu", input_shape=(4,))])
    model.set_weights([models.weights(4, 3), np.zeros(3)])
    model.save(str(tmp_path / "model.h5"))
    content = tf.compat.v2.lite.TFLiteConverter.from_keras_model(model).convert()
    np.testing.assert_allclose(answers(content)[2], WANTED, rtol=1e-6)
    converter = tf.lite.TFLiteConverter.from_keras_model_file(str(tmp_path / "model.h5"))
    np.testing.assert_allclose(answers(converter.convert())[2], WANTED, rtol=1e-6)
    tf.keras.backend.clear_session()


def test_a_branch_that_is_never_taken_is_left_out():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 4], "x")
        training = tf.constant(False)
        y = tf.cond(training, lambda: tf.linalg.inv(tf.matmul(x, x, True)), lambda: x + 1.0)
        y = tf.identity(y, "y")
        content = tf.lite.TFLiteConverter.from_session(session, [x], [y]).convert()
    assert [kind for kind, _ in operators(content)] == ["ADD"]
    assert answers(content)[1] == "y"


def test_an_output_may_be_what_another_reads():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 4], "x")
        h = tf.exp(x)
        outputs = [tf.identity(h, "first"), tf.negative(h, "second")]
        content = tf.lite.TFLiteConverter.from_session(session, [x], outputs).convert()
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    assert [d["name"] for d in interpreter.get_output_details()] == ["first", "second"]


def test_slices_with_ellipsis_and_new_dimensions():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 4, 5], "x")
        y = tf.negative(x[..., tf.newaxis, 1:4:2], "y")
        z = tf.negative(x[0, :, tf.newaxis], "z")
        content = tf.lite.TFLiteConverter.from_session(session, [x], [y, z]).convert()
        fed = models.feeds("slices", [(1, 4, 5)], ["float32"])[0]
        wanted = session.run([y, z], {x: fed})
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], fed)
    interpreter.invoke()
    for detail, value in zip(interpreter.get_output_details(), wanted):
        np.testing.assert_array_equal(interpreter.get_tensor(detail["index"]), value)


def test_operations_that_lack_are_named_all_at_once():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4, 4], "x")
        y = tf.linalg.det(tf.math.erf(tf.nn.relu(x)))
        converter = tf.lite.TFLiteConverter.from_session(session, [x], [y])
        with pytest.raises(ConverterError, match=r"using: RELU\. .*: Erf, MatrixDeterminant\."):
            converter.convert()


def test_shapes_have_to_be_known():
    with tf.Graph().as_default(), tf.Session() as session:
        for shape, message in (
            (None, "Provide an input shape for input array 'x0'"),
            ([1, None], r"None is only supported in the 1st dimension. Tensor 'x1' has invalid"),
        ):
            x = tf.placeholder(tf.float32, shape, f"x{int(shape is not None)}")
            with pytest.raises(ValueError, match=message):
                tf.lite.TFLiteConverter.from_session(session, [x], [x + 1]).convert()


@pytest.mark.parametrize(("settings", "error", "message"), [
    ({"quantized_input_stats": {"z": (0, 1)}}, ValueError,
     "stats are not available for input tensors 'x'"),
    ({"inference_type": tf.uint8}, ValueError, "std_dev and mean must be defined"),
    ({"inference_output_type": tf.uint8}, ValueError, "inference_output_type is currently not"),
    ({"inference_type": tf.uint8, "optimizations": [tf.lite.Optimize.DEFAULT]}, ValueError,
     "require that `inference_type` is set to float"),
    ({"inference_input_type": tf.uint8, "optimizations": [tf.lite.Optimize.DEFAULT]}, ValueError,
     "Provide an inference_input_type and inference_output_type of type tf.float32"),
    ({"target_spec": tf.lite.TargetSpec({tf.lite.OpsSet.TFLITE_BUILTINS_INT8})}, ValueError,
     "representative_dataset is required"),
    ({"experimental_enable_mlir_converter": True}, NotImplementedError,
     "experimental_enable_mlir_converter of TFLiteConverter"),
    ({"output_format": tf.lite.constants.GRAPHVIZ_DOT}, NotImplementedError, "output_format"),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused(graph, settings, error, message):
    session, x, y = graph
    converter = tf.lite.TFLiteConverter.from_session(session, [x], [y])
    for name, value in settings.items():
        setattr(converter, name, value)
    with pytest.raises(error, match=message):
        converter.convert()


def test_files_and_names_that_are_not_there_are_refused(graph, tmp_path):
    session, x, _ = graph
    with pytest.raises(IOError, match=r"does not exist"):
        tf.lite.TFLiteConverter.from_frozen_graph(str(tmp_path / "none.pb"), ["x"], ["y"])
    tf.train.write_graph(session.graph_def, str(tmp_path), "graph.pb", as_text=False)
    with pytest.raises(ValueError, match=r"Please freeze the graph using freeze_graph\.py"):
        tf.lite.TFLiteConverter.from_frozen_graph(str(tmp_path / "graph.pb"), ["x"], ["y"])
    (tmp_path / "text").write_text("no graph")
    with pytest.raises(IOError, match="Unable to parse input file"):
        tf.lite.TFLiteConverter.from_frozen_graph(str(tmp_path / "text"), ["x"], ["y"])
    with pytest.raises(ConverterError, match="listed in both"):
        tf.lite.TFLiteConverter.from_session(session, [x], [x]).convert()


def test_two_outputs_may_be_called_after_one_value():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 4], "x")
        h = tf.exp(x)
        outputs = [tf.identity(h, "first"), tf.identity(h, "second"), tf.identity(x, "third")]
        content = tf.lite.TFLiteConverter.from_session(session, [x], outputs).convert()
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    assert [d["name"] for d in interpreter.get_output_details()] == ["first", "second", "third"]
    interpreter.invoke()
    for detail, value in zip(interpreter.get_output_details(), (1, 1, 0)):
        np.testing.assert_array_equal(interpreter.get_tensor(detail["index"]), [[value] * 4])


@pytest.mark.parametrize("name", record.DETECTORS)
def test_custom_operators_are_written_if_they_are_allowed(name):
    converter = record.detector_converter(tf, name)
    arrays = np.load(RECORDED / f"{name}.npz")
    _, answers = record.run(tf, converter.convert(), name)
    for i, answer in enumerate(answers):
        np.testing.assert_allclose(answer, arrays[f"out{i}"], rtol=1e-5, atol=1e-5)
    converter.allow_custom_ops = False
    with pytest.raises(ConverterError, match="TFLite_Detection_PostProcess"):
        converter.convert()


def test_operations_of_tensorflow_alone_become_custom_operators():
    content = record.custom_converter(tf).convert()
    recorded = (RECORDED / "custom.tflite").read_bytes()
    assert custom_operators(content) == custom_operators(recorded)
    assert operators(content) == operators(recorded)
    with pytest.raises(ValueError, match=r"not supported by Stillflow: .*CUSTOM Lgamma"):
        tf.lite.Interpreter(model_content=content)
    converter = record.custom_converter(tf)
    converter.allow_custom_ops = False
    with pytest.raises(ConverterError, match=r"Atan, Bucketize, Conv3D, .* RandomUniform"):
        converter.convert()


def run(outputs, *inputs):
    """Convert part of a graph; return the answers for numbers, and the session's."""
    with tf.Session() as session:
        content = tf.lite.TFLiteConverter.from_session(session, inputs, outputs).convert()
        fed = models.feeds("any", [x.shape.as_list() for x in inputs], ["float32"] * len(inputs))
        wanted = session.run(outputs, dict(zip(inputs, fed)))
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), fed):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    answers = [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
    return answers, wanted


def test_what_tensorflow_converts_to_something_else_is_right():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3, 4], "x")
        outputs = [
            tf.matrix_diag(x, name="diagonal"),
            tf.nn.l2_normalize(x, 1),
            tf.exp(x[..., 0]),
            x[:, 0, :, tf.newaxis] * np.ones((2, 4, 3), np.float32),
            tf.where_v2(x > 0.0, x, 0.0),
            tf.nn.swish(x),
        ]
        for answer, wanted in zip(*run(outputs, x)):
            np.testing.assert_allclose(answer, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [9, 10])
def test_dilated_convolutions_without_padding_keep_their_shape(size):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, size, size, 2], "x")
        filters = models.weights(3, 3, 2, 4)
        by_channel = models.weights(3, 3, 2, 1)
        outputs = [
            tf.nn.convolution(x, filters, "VALID", dilation_rate=[2, 2]),
            tf.nn.conv2d(x, filters, 1, "VALID", dilations=[1, 2, 3, 1]),
            tf.nn.atrous_conv2d(x, filters, 2, "VALID"),
            tf.nn.depthwise_conv2d(x, by_channel, [1, 1, 1, 1], "VALID", rate=[2, 2]),
        ]
        for answer, wanted in zip(*run(outputs, x)):
            np.testing.assert_allclose(answer, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_dilations_that_the_depthwise_operation_ignores_are_not_converted(padding):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 9, 9, 2], "x")
        by_channel, ones = models.weights(3, 3, 2, 1), [1, 1, 1, 1]
        outputs = [
            tf.nn.depthwise_conv2d_native(x, by_channel, ones, padding, dilations=[1, 2, 2, 1]),
            tf.nn.depthwise_conv2d(x, by_channel, ones, padding, rate=[2, 2]),
        ]
        for answer, wanted in zip(*run(outputs, x)):
            np.testing.assert_allclose(answer, wanted, rtol=1e-5, atol=1e-5)


def test_pixels_with_centers_at_halves_are_not_converted_to_others():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 3, 3, 2], "x")
        for size, method in (([6, 6], "bilinear"), ([5, 5], "nearest")):
            y = tf.compat.v2.image.resize(x, size, method)
            with pytest.raises(ConverterError, match="centers at halves"):
                tf.lite.TFLiteConverter.from_session(session, [x], [y]).convert()


def test_batch_norms_of_training_are_not_converted():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 3, 3, 4], "x")
        y = tf.layers.batch_normalization(x, training=True)
        session.run(tf.global_variables_initializer())
        with pytest.raises(ConverterError, match="a batch norm of training, not of inference"):
            tf.lite.TFLiteConverter.from_session(session, [x], [y]).convert()


def test_random_numbers_without_a_seed_are_no_constants():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 3], "x")
        converter = tf.lite.TFLiteConverter.from_session(session, [x], [tf.nn.dropout(x, rate=0.5)])
        with pytest.raises(ConverterError, match=r"implementations: RandomUniform\."):
            converter.convert()


def test_inputs_that_nothing_reads_stay_inputs():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3], "x")
        y = tf.placeholder(tf.float32, [4], "y")
        answers, wanted = run([tf.rank(x), tf.exp(y)], x, y)
    assert answers[0] == wanted[0] == 2
    np.testing.assert_allclose(answers[1], wanted[1], rtol=1e-6)


def test_branches_and_loops_are_named():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3], "x")
        y = tf.cond(x[0] > 0, lambda: x + 1.0, lambda: x - 1.0)
        with pytest.raises(ConverterError, match=r"doesn't support control flow ops: Merge, Switc"):
            tf.lite.TFLiteConverter.from_session(session, [x], [y]).convert()


def test_values_of_unknown_shape_do_not_become_copies():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3], "x")
        places = tf.where(x > 0)
        y = [tf.cast(places, tf.float32), tf.identity(places)]
        with pytest.raises(ConverterError, match="unknown shape"):
            tf.lite.TFLiteConverter.from_session(session, [x], y).convert()


@pytest.mark.parametrize("name", IN_INTEGERS)
def test_models_in_integers_are_those_of_tensorflow(name):
    model, variant = record.names()[name]
    content = record.converter_of(tf, model, variant).convert()
    assert operators(content) == operators((RECORDED / f"{name}.tflite").read_bytes())
    _, (answer,) = record.run(tf, content, model)
    wanted = np.load(RECORDED / f"{name}.npz")["out0"]
    assert answer.dtype == wanted.dtype
    # Ranges that differ in the last bit may round a value inside of the model to its neighbour.
    np.testing.assert_allclose(answer, wanted, rtol=0, atol=0.02)


@pytest.mark.parametrize("name", ["activations", "arithmetic", "shapes", "pictures"])
def test_operators_that_need_reals_keep_them(name):
    converter = record.converter_of(tf, name, "")
    fed, wanted = record.run(tf, converter.convert(), name)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: [fed]
    content = converter.convert()
    assert "QUANTIZE" in {kind for kind, _ in operators(content)}
    _, answers = record.run(tf, content, name)
    for answer, value in zip(answers, wanted):
        spread = np.ptp(value) if name != "arithmetic" else 8
        np.testing.assert_allclose(answer, value, rtol=0, atol=0.05 * spread)


def test_integers_alone_are_not_enough_for_every_operator():
    converter = record.converter_of(tf, "activations", "")
    converter.representative_dataset = lambda: [[np.ones((1, 4, 4, 3), np.float32)]]
    converter.target_spec.supported_ops = {tf.lite.OpsSet.TFLITE_BUILTINS_INT8}
    with pytest.raises(RuntimeError, match="Quantization not yet supported for op: RELU"):
        converter.convert()
    converter.representative_dataset = list
    converter.target_spec.supported_ops = {tf.lite.OpsSet.TFLITE_BUILTINS}
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    with pytest.raises(RuntimeError, match="Unable to find min/max value for"):
        converter.convert()


def test_what_is_written_in_integers_can_be_run_in_integers():
    from stillflow.lite import full_integers, quantized_operators

    assert set(full_integers._MANNERS) <= set(quantized_operators.QUANTIZED)


def test_old_names_convert_as_well(graph):
    session, x, y = graph
    frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
    check(tf.lite.toco_convert(frozen, [x], [y], tf.float32, input_shapes=[[1, 4]]))
    check(tf.lite.TocoConverter.from_session(session, [x], [y]).convert())
    with pytest.raises(TypeError, match=r"unexpected arguments \['speed'\]"):
        tf.lite.toco_convert(frozen, [x], [y], speed=9)
