"""Stored matrices by vocabulary, variables warm-started from them, errors."""

from __future__ import annotations

import os

import numpy as np
from tests.golden.programs.train.saver import directory, fixed_uuid
from tests.golden.registry import Run, program, raised

OLD = b"mercury\nvenus\nmars\nearth\n"
NEW = b"venus\njupiter\nmercury\n"
CLASSES = b"good\nbetter\nbest\n"
NEW_CLASSES = b"good\nbest\nfantastic"


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def save_matrix(tf, folder):
    """Save w (4, 3) and b (3,) and return the prefix."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=np.arange(12, dtype=np.float32).reshape(4, 3))
        tf.get_variable("b", initializer=np.float32([7, 8, 9]))
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, os.path.join(folder, "model"))


def values_of(tf, name, variables):
    with tf.Session() as session:
        session.run([variable.initializer for variable in variables])
        return {name + "/" + str(i): v for i, v in enumerate(session.run(variables))}


@program
def remappings(tf):
    found = {}
    with directory() as folder:
        old, new = write(folder, "old", OLD), write(folder, "new", NEW)
        empty = write(folder, "empty", b"a\n\nb\n")
        twice = write(folder, "twice", b"a\nb\na\n")
        raw = tf.raw_ops.GenerateVocabRemapping
        with tf.Graph().as_default(), tf.Session() as session:
            for key, offset, count, size in (
                ("all", 0, 3, -1), ("part", 1, 2, -1), ("old_part", 0, 3, 1), ("none", 3, 0, -1),
            ):  # fmt: skip
                found[key + "/ids"], found[key + "/present"] = session.run(
                    raw(
                        new_vocab_file=new, old_vocab_file=old, new_vocab_offset=offset,
                        num_new_vocab=count, old_vocab_size=size,
                    )
                )  # fmt: skip

            def ask(new_file, old_file, count=1, size=-1):
                return session.run(
                    raw(
                        new_vocab_file=new_file, old_vocab_file=old_file, new_vocab_offset=0,
                        num_new_vocab=count, old_vocab_size=size,
                    )
                )  # fmt: skip

            found["too_many"] = raised(ask, new, old, 4)
            found["no_name"] = raised(ask, "", old)["class"]
            found["short"] = raised(ask, new, old, 1, 9)["class"]
            found["empty_line"] = raised(ask, empty, old)["class"]
            found["twice"] = raised(ask, new, twice)["class"]
            found["lost"] = raised(ask, new, os.path.join(folder, "lost"))["class"]
    return Run({}, facts=found)


@program
def matrices(tf):
    found = {}
    with directory() as folder:
        prefix = save_matrix(tf, folder)
        with tf.Graph().as_default(), tf.Session() as session:

            def load(rows, columns, values, name="w", size=None, at_once=-1):
                return session.run(
                    tf.raw_ops.LoadAndRemapMatrix(
                        ckpt_path=prefix, old_tensor_name=name,
                        row_remapping=np.int64(rows), col_remapping=np.int64(columns),
                        initializing_values=np.float32(values),
                        num_rows=len(rows), num_cols=size or len(columns) or 3,
                        max_rows_in_memory=at_once,
                    )
                )  # fmt: skip

            found["rows"] = load([1, -1, 0], [], [50, 51, 52])
            found["columns"] = load([0, 1], [2, -1, 0], [50, 51])
            found["both"] = load([3, -1], [0, 2], [50, 51])
            found["by_one"] = load([3, -1, 0], [2, 1, -1], [1, 2, 3, 4, 5], at_once=1)
            found["all_new"] = load([-1, -1], [], [1, 2, 3, 4, 5, 6])
            found["few"] = raised(load, [1, -1], [], [50])
            found["many"] = raised(load, [1, -1], [], [1, 2, 3, 4])
            found["twice"] = raised(load, [1, 1], [], [])
            found["rank"] = raised(load, [1], [], [], "b")
            found["width"] = raised(load, [1], [], [], size=4)
            found["columns_size"] = raised(load, [1], [0, 1], [], size=3)
            found["lost"] = raised(load, [1], [], [], "lost")
    return Run({}, facts=found)


@program
def warm_starts(tf):
    found = {}
    with directory() as folder:
        prefix = save_matrix(tf, folder)
        old, new = write(folder, "old", OLD), write(folder, "new", NEW)
        classes = write(folder, "classes", CLASSES)
        new_classes = write(folder, "new_classes", NEW_CLASSES)
        constant = tf.constant_initializer(0.5)
        with tf.Graph().as_default():
            w = tf.get_variable("w", [4, 3], initializer=constant)
            info = tf.train.VocabInfo(new, 3, 1, old, 4, tf.ones_initializer())
            b = tf.get_variable("b", [3], initializer=constant)
            tf.train.warm_start(prefix, var_name_to_vocab_info={"w": info})
            found.update(values_of(tf, "rows", [w, b]))
        with tf.Graph().as_default():
            v = tf.get_variable("v", [4, 3], initializer=constant)
            info = tf.train.VocabInfo(new_classes, 3, 0, classes, axis=1)
            tf.train.warm_start(folder, ".*", {"v": info}, {"v": "w"})
            found.update(values_of(tf, "columns", [v]))
        with tf.Graph().as_default():
            parts = tf.get_variable(
                "w", [5, 3], initializer=constant, partitioner=tf.fixed_size_partitioner(3)
            )
            info = tf.train.VocabInfo(new, 3, 2, old)
            tf.train.warm_start(prefix, None, {"w": info})
            found.update(values_of(tf, "parts", list(parts)))
        with tf.Graph().as_default():
            tf.get_variable("w", [4, 3], initializer=constant)
            found["unused"] = raised(tf.train.warm_start, prefix, "w", {"q": info})
            found["unused_name"] = raised(tf.train.warm_start, prefix, "w", None, {"q": "w"})
            found["kind"] = raised(tf.train.warm_start, prefix, 3)
            found["mixed"] = raised(tf.train.warm_start, prefix, ["w", 3])
        found["axis"] = raised(tf.train.VocabInfo, new, 3, 0, old, axis=2)
    return Run({}, facts=found)


@program
def remapping_graph(tf):
    with fixed_uuid():
        initialize = tf.contrib.framework.load_and_remap_matrix_initializer(
            "model", "w", 3, 3, old_row_vocab_file="old", new_row_vocab_file="new",
            old_col_vocab_file="classes", new_col_vocab_file="new_classes",
            num_row_oov_buckets=2, num_col_oov_buckets=1,
        )  # fmt: skip
        initialize([5, 4])
        tf.contrib.framework.load_embedding_initializer("model", "w", 3, 3, "old", "new")([3, 3])
    return Run({"embeddings": tf.constant(0)})
