"""tf.keras.preprocessing: what TensorFlow 1.15.5 answered to the same calls."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

image = tf.keras.preprocessing.image
PICTURES = np.random.RandomState(0).rand(8, 12, 12, 3).astype("f")


def test_texts_become_numbers():
    tokenizer = tf.keras.preprocessing.text.Tokenizer(num_words=20, oov_token="<o>")
    tokenizer.fit_on_texts(["the cat sat on the mat", "a dog"])
    assert tokenizer.texts_to_sequences(["the dog ran"]) == [[2, 8, 1]]
    assert tokenizer.texts_to_matrix(["the cat"], "tfidf").sum() == 1.3862943611198906
    again = tf.keras.preprocessing.text.tokenizer_from_json(tokenizer.to_json())
    assert again.word_index == tokenizer.word_index


def test_windows_of_a_series_are_a_sequence_of_batches():
    series = np.arange(10.0).reshape(10, 1)
    windows = tf.keras.preprocessing.sequence.TimeseriesGenerator(
        series, np.arange(10), 3, batch_size=2
    )
    assert isinstance(windows, tf.keras.utils.Sequence) and len(windows) == 4
    assert windows[0][0].ravel().tolist() == [0, 1, 2, 1, 2, 3]


# The library imports a name of SciPy that SciPy 2 will not have.
@pytest.mark.filterwarnings("ignore:Please import `affine_transform`:DeprecationWarning")
def test_random_variants_are_those_of_tensorflow():
    np.random.seed(1)
    variants = image.ImageDataGenerator(
        rotation_range=30, width_shift_range=0.2, zoom_range=0.2, horizontal_flip=True,
        featurewise_center=True,
    )  # fmt: skip
    variants.fit(PICTURES)
    pictures, labels = next(variants.flow(PICTURES, np.arange(8), batch_size=4, seed=3))
    assert (pictures.dtype, pictures.shape) == (np.float32, (4, 12, 12, 3))
    assert labels.tolist() == [5, 7, 4, 6]
    np.testing.assert_allclose(pictures.sum(dtype="d"), -9.54793643951416, atol=1e-4)


def test_batches_of_an_array_are_found_by_number():
    batches = image.NumpyArrayIterator(PICTURES, np.arange(8), image.ImageDataGenerator(), 3)
    assert isinstance(batches, tf.keras.utils.Sequence) and len(batches) == 3
    pictures, labels = batches[2]
    np.testing.assert_array_equal(pictures, PICTURES[6:])
    assert labels.tolist() == [6, 7]


def test_pictures_in_folders_have_the_classes_of_these(tmp_path):
    pytest.importorskip("PIL")
    for number in range(3):
        folder = tmp_path / "ab"[number % 2]
        folder.mkdir(exist_ok=True)
        image.save_img(str(folder / f"{number}.png"), PICTURES[number])
    found = image.ImageDataGenerator(rescale=1 / 255.0).flow_from_directory(
        str(tmp_path), target_size=(10, 10), batch_size=3, shuffle=False
    )
    pictures, labels = next(found)
    np.testing.assert_allclose(pictures.sum(dtype="d"), 448.10589599609375, rtol=1e-6)
    assert labels.tolist() == [[1, 0], [1, 0], [0, 1]] and found.class_indices == {"a": 0, "b": 1}
    loaded = image.load_img(str(tmp_path / "a" / "0.png"))
    assert image.img_to_array(loaded).sum() == 53656


def test_a_model_learns_from_a_generator():
    with tf.Graph().as_default(), tf.Session():
        model = tf.keras.Sequential(
            [tf.keras.layers.Flatten(input_shape=(12, 12, 3)), tf.keras.layers.Dense(8, "softmax")]
        )
        model.compile("sgd", "sparse_categorical_crossentropy")
        batches = image.ImageDataGenerator().flow(PICTURES, np.arange(8), batch_size=4, seed=3)
        history = model.fit_generator(batches, steps_per_epoch=2, epochs=5, verbose=0).history
    assert len(history["loss"]) == 5 and history["loss"][-1] < history["loss"][0]


def test_defaults_are_those_of_the_backend():
    tf.keras.backend.set_floatx("float64")
    try:
        batches = image.NumpyArrayIterator(PICTURES, None, image.ImageDataGenerator(), 3)
        assert batches[0].dtype == np.float64
        assert image.img_to_array(PICTURES[0]).dtype == np.float64
    finally:
        tf.keras.backend.set_floatx("float32")
