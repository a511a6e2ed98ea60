"""Callbacks of `fit`."""

import csv
import gc
import os

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager import profiler

X = np.linspace(-1, 1, 32, dtype="float32").reshape(8, 4)
Y = X.sum(1, keepdims=True)
callbacks = tf.keras.callbacks

PROFILED = ".profile-empty"


def fit(*made, epochs=3, rate=0.01, **kwargs):
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(1, input_shape=(4,), kernel_initializer="zeros")
    ])  # fmt: skip
    model.compile(tf.keras.optimizers.SGD(rate), "mse")
    history = model.fit(X, Y, epochs=epochs, verbose=0, callbacks=list(made), **kwargs)
    return model, history


def test_stops_early_and_takes_the_best_weights_back():
    stop = callbacks.EarlyStopping("loss", patience=1, restore_best_weights=True, mode="max")
    model, history = fit(stop, epochs=9)
    assert len(history.history["loss"]) == 2
    assert stop.stopped_epoch == 1
    assert model.stop_training


def test_keeps_checkpoints(tmp_path):
    pattern = str(tmp_path / "w-{epoch:02d}")
    saver = callbacks.ModelCheckpoint(pattern, save_weights_only=True)
    model, _ = fit(saver, epochs=2)
    assert {"w-01.index", "w-02.index"} <= set(os.listdir(tmp_path))
    expected = model.get_weights()
    model.set_weights([np.ones_like(value) for value in expected])
    model.load_weights(str(tmp_path / "w-02"))
    np.testing.assert_array_equal(model.get_weights()[0], expected[0])


def test_learning_rates_follow_a_schedule():
    rates = []
    schedule = callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
    note = callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: rates.append(logs["lr"]))
    fit(schedule, note)
    np.testing.assert_allclose(rates, [0.1, 0.05, 0.1 / 3], rtol=1e-5)


def test_learning_rate_falls_on_a_plateau():
    reduce = callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=10.0)
    model, _ = fit(reduce, epochs=3, rate=0.08)
    assert tf.keras.backend.get_value(model.optimizer.lr) == pytest.approx(0.02)


def test_writes_logs_as_tables_and_events(tmp_path):
    path = str(tmp_path / "log.csv")
    _, history = fit(callbacks.CSVLogger(path), callbacks.TensorBoard(str(tmp_path / "tb")))
    with open(path) as file:
        rows = list(csv.DictReader(file))
    found = [float(row["loss"]) for row in rows]
    np.testing.assert_allclose(found, history.history["loss"], rtol=1e-6)
    (events,) = (path for path in (tmp_path / "tb").glob("events*") if path.suffix != PROFILED)
    tags = [
        (value.tag, event.step)
        for event in tf.train.summary_iterator(str(events))
        for value in event.summary.value
    ]
    assert ("epoch_loss", 2) in tags


def test_a_loss_that_is_no_number_ends_training():
    with np.errstate(all="ignore"):
        _, history = fit(callbacks.TerminateOnNaN(), epochs=20, rate=1e30, batch_size=4)
    assert len(history.epoch) < 20


def test_shows_progress(capsys):
    model, _ = fit(epochs=1)
    model.fit(X, Y, batch_size=4, verbose=1)
    printed = capsys.readouterr().out
    assert "Train on 8 samples" in printed
    assert "8/8 [==============================]" in printed
    model.fit(X, Y, verbose=2)
    assert "8/8 - " in capsys.readouterr().out


def events(directory):
    """(step, tag, kind) of what is in the event files of a directory."""
    found = []
    for name in sorted(os.listdir(directory)):
        for event in tf.train.summary_iterator(os.path.join(directory, name)):
            for value in event.summary.value:
                found.append((event.step, value.tag, value.WhichOneof("value")))
            if event.WhichOneof("what") == "graph_def":
                found.append((event.step, "graph", "graph_def"))
    return found


def test_the_second_generation_writes_training_and_validation_apart(tmp_path):
    writes = tf.compat.v2.keras.callbacks.TensorBoard(
        str(tmp_path), histogram_freq=2, write_images=True, batch_size=4
    )
    fit(writes, epochs=3, validation_data=(X, Y))
    made = events(tmp_path / "train")
    assert made[:2] == [(0, "graph", "graph_def"), (0, "keras", "tensor")]
    assert [step for step, tag, _ in made if tag == "epoch_loss"] == [0, 1, 2]
    histograms = [(step, tag) for step, tag, kind in made if kind == "histo"]
    names = sorted({tag for _, tag in histograms})
    assert [name.rpartition("/")[2] for name in names] == ["bias_0", "kernel_0"]
    assert sorted({step for step, _ in histograms}) == [0, 2]
    assert {tag for _, tag, kind in made if kind == "image"} == {f"{names[1]}/image/0"}
    validated = events(tmp_path / "validation")
    assert validated == [(step, "epoch_loss", "simple_value") for step in range(3)]


def test_the_second_generation_writes_results_of_batches(tmp_path):
    writes = tf.compat.v2.keras.callbacks.TensorBoard(
        str(tmp_path), write_graph=False, update_freq="batch"
    )
    fit(writes, epochs=2, batch_size=4)
    steps = [step for step, tag, _ in events(tmp_path / "train") if tag == "batch_loss"]
    assert steps == [0, 1, 2, 3]
    assert not (tmp_path / "validation").exists()


def test_what_the_second_generation_does_not_know_is_refused(tmp_path):
    made = tf.compat.v2.keras.callbacks.TensorBoard
    with pytest.raises(ValueError, match="Unrecognized arguments in `TensorBoard`"):
        made(other=1)
    with pytest.raises(ValueError, match="Unrecognized `Embedding` layer names"):
        fit(made(str(tmp_path), embeddings_freq=1, embeddings_metadata={"other": "a.tsv"}))


def embedded(callback):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Embedding(20, 4, input_length=3, name="words"), layers.Flatten(), layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    x = np.arange(24).reshape(8, 3) % 20
    model.fit(x, np.ones([8, 1]), epochs=2, verbose=0, callbacks=[callback])
    return x, model


def test_writes_what_layers_make_of_examples(tmp_path):
    examples = np.arange(21).reshape(7, 3) % 20
    _, model = embedded(
        callbacks.TensorBoard(
            str(tmp_path), batch_size=3, embeddings_freq=1, embeddings_data=examples,
            embeddings_metadata="names.tsv",
        )
    )  # fmt: skip
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert 'tensor_name: "words_embedding:0"' in config
    assert 'metadata_path: "names.tsv"' in config
    (table,) = model.layers[0].get_weights()
    reader = tf.train.load_checkpoint(str(tmp_path / "keras_embedding.ckpt-1"))
    np.testing.assert_array_equal(
        reader.get_tensor("words_embedding"), table[examples].reshape(7, 12)
    )
    with pytest.raises(ValueError, match="embeddings_data must be provided"):
        embedded(callbacks.TensorBoard(str(tmp_path), embeddings_freq=1))


def test_the_second_generation_writes_embeddings(tmp_path):
    made = tf.compat.v2.keras.callbacks.TensorBoard
    embedded(made(str(tmp_path), embeddings_freq=2, embeddings_metadata={"words": "names.tsv"}))
    assert 'metadata_path: "names.tsv"' in (tmp_path / "projector_config.pbtxt").read_text()
    assert sorted(path.name for path in (tmp_path / "train").glob("*.index")) == [
        "keras_embedding.ckpt-0.index"
    ]


def test_an_error_ends_the_profile_with_the_training(tmp_path):
    def fails() -> None:
        embedded(callbacks.TensorBoard(str(tmp_path), embeddings_freq=1))

    with pytest.raises(ValueError, match="embeddings_data must be provided"):
        fails()
    gc.collect()
    with pytest.raises(profiler.ProfilerNotRunningError):
        profiler.stop()


@pytest.mark.parametrize("batch, traces", [(0, 0), (1, 1), (2, 1), (40, 0)])
def test_profiles_one_batch(tmp_path, batch, traces):
    fit(callbacks.TensorBoard(str(tmp_path), profile_batch=batch), batch_size=4)
    assert len(list(tmp_path.glob("plugins/profile/*/local.trace"))) == traces
