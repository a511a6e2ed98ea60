"""Arrays, files and data sets."""

import gzip
import hashlib
import pickle
import tarfile

import numpy as np
import pytest

import stillflow as tf
from stillflow.keras.datasets import images
from stillflow.keras.utils import symbolic


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".keras" / "datasets"
    folder.mkdir(parents=True)
    return folder


def test_classes_as_vectors():
    found = tf.keras.utils.to_categorical([[0], [2]])
    np.testing.assert_array_equal(found, [[1, 0, 0], [0, 0, 1]])
    assert found.dtype == np.float32
    assert tf.keras.utils.to_categorical([[1, 0]], 4, dtype="int32").shape == (1, 2, 4)


def test_unit_vectors():
    found = tf.keras.utils.normalize(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]])


def test_a_file_of_the_net_is_kept(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("hello")
    digest = hashlib.md5(b"hello").hexdigest()
    arguments = {"md5_hash": digest, "cache_dir": str(tmp_path)}
    path = tf.keras.utils.get_file("kept.txt", source.as_uri(), **arguments)
    source.unlink()
    assert tf.keras.utils.get_file("kept.txt", source.as_uri(), **arguments) == path
    with pytest.raises(Exception, match=r"URL fetch failure.*put the file at"):
        tf.keras.utils.get_file("other.txt", source.as_uri(), **arguments)


def test_an_archive_becomes_a_folder(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    with tarfile.open(tmp_path / "folder.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.txt", "folder/a.txt")
    origin = (tmp_path / "folder.tar.gz").as_uri()
    path = tf.keras.utils.get_file("folder", origin, untar=True, cache_dir=str(tmp_path / "c"))
    with open(f"{path}/a.txt") as file:
        assert file.read() == "hello"


def test_mnist_is_read_from_a_local_file(home, monkeypatch):
    monkeypatch.setattr(images, "get_file", lambda path, **_: str(home / path))
    x, y = np.zeros((2, 28, 28), "uint8"), np.array([3, 4], "uint8")
    np.savez(home / "mnist.npz", x_train=x, y_train=y, x_test=x[:1], y_test=y[:1])
    (x_train, y_train), (x_test, _) = tf.keras.datasets.mnist.load_data()
    assert x_train.shape == (2, 28, 28)
    assert x_test.shape == (1, 28, 28)
    np.testing.assert_array_equal(y_train, [3, 4])


def test_fashion_mnist_is_read_from_local_files(home):
    folder = home / "fashion-mnist"
    folder.mkdir()
    for split in ("train", "t10k"):
        with gzip.open(folder / f"{split}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(bytes(8) + bytes([7, 8]))
        with gzip.open(folder / f"{split}-images-idx3-ubyte.gz", "wb") as file:
            file.write(bytes(16) + bytes(2 * 784))
    (x_train, y_train), _ = tf.keras.datasets.fashion_mnist.load_data()
    assert x_train.shape == (2, 28, 28)
    np.testing.assert_array_equal(y_train, [7, 8])


def test_cifar_is_read_from_a_local_folder(home, monkeypatch):
    monkeypatch.setattr(images, "get_file", lambda name, **_: str(home / name))
    folder = home / "cifar-100-python"
    folder.mkdir()
    content = {b"data": np.arange(3072, dtype="uint8")[None], b"fine_labels": [5]}
    for split in ("train", "test"):
        with open(folder / split, "wb") as file:
            pickle.dump(content, file, protocol=2)
    (x_train, y_train), _ = tf.keras.datasets.cifar100.load_data()
    assert x_train.shape == (1, 32, 32, 3)
    np.testing.assert_array_equal(y_train, [[5]])
    with pytest.raises(ValueError, match="label_mode"):
        tf.keras.datasets.cifar100.load_data("other")


def test_a_batch_that_would_run_something_is_not_read(tmp_path):
    with open(tmp_path / "batch", "wb") as file:
        pickle.dump({b"data": print}, file)
    with pytest.raises(pickle.UnpicklingError, match="no part of a data set"):
        images._read_batch(str(tmp_path / "batch"), "labels")


def test_registered_classes_count_as_tensors():
    class Coercible:
        pass

    assert symbolic.is_symbolic_tensor(tf.constant(1.0))
    assert symbolic.is_symbolic_tensor(tf.Variable(1.0))
    assert not symbolic.is_symbolic_tensor(1.0)
    assert not symbolic.is_symbolic_tensor(Coercible())
    symbolic.register_symbolic_tensor_type(Coercible)
    with pytest.raises(TypeError):  # nothing makes a tensor of it yet
        symbolic.is_symbolic_tensor(Coercible())
    tf.register_tensor_conversion_function(Coercible, lambda *args, **kwargs: tf.constant(1.0))
    assert symbolic.is_symbolic_tensor(Coercible())


def test_a_matrix_has_the_first_dimensions_in_its_rows():
    from stillflow.keras.backend.local_convolution import make_2d

    with tf.Graph().as_default(), tf.Session() as session:
        values = np.arange(24.0).reshape(2, 3, 4)
        rows, columns = (session.run(make_2d(tf.constant(values), split)) for split in (1, 2))
    np.testing.assert_array_equal(rows, values.reshape(2, 12))
    np.testing.assert_array_equal(columns, values.reshape(6, 4))


def test_a_file_has_its_hash(tmp_path):
    from stillflow.keras.utils.downloads import hash_of_file, validate_file

    path = str(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"content" * 20_000)
    for algorithm in ("sha256", "md5"):
        expected = hashlib.new(algorithm, b"content" * 20_000).hexdigest()
        assert hash_of_file(path, algorithm) == expected
        assert validate_file(path, expected)
