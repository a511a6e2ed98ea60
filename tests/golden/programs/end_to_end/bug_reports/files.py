"""Bug reports of people who use TensorFlow 1.x, about files, in programs of ours."""

import os
import tempfile

import numpy as np
from tests.golden.registry import Run, describe_error, program, raised


@program
def compressed_records_read_as_plain_ones(tf):
    path = tempfile.mkdtemp() + "/z"
    with tf.python_io.TFRecordWriter(path, tf.python_io.TFRecordOptions("ZLIB")) as writer:
        writer.write(b"abc" * 20)
    return Run(facts=raised(list, tf.python_io.tf_record_iterator(path)))


@program
def a_saver_keeps_the_newest_checkpoints(tf):
    v = tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=2)
    folder = tempfile.mkdtemp()

    def save(session):
        session.run(v.initializer)
        for step in range(4):
            saver.save(session, folder + "/m", global_step=step, write_meta_graph=False)
        state = tf.train.get_checkpoint_state(folder)
        kept = [os.path.basename(path) for path in state.all_model_checkpoint_paths]
        return {"files": sorted(os.listdir(folder)), "kept": kept}

    return Run(call=save)


@program
def a_saver_renames_variables(tf):
    v = tf.Variable([1.0, 2.0], name="old")
    saver = tf.train.Saver({"new/name": v})

    def save(session):
        session.run(v.initializer)
        prefix = saver.save(session, tempfile.mkdtemp() + "/n")
        return {"variables": [str(each) for each in tf.train.list_variables(prefix)]}

    return Run(call=save)


@program
def an_example_without_a_feature_that_must_be_there(tf):
    features = {"a": tf.FixedLenFeature([], tf.int64)}
    example = tf.train.Example().SerializeToString()
    return Run(tf.parse_single_example(example, features), fails=True)


@program
def a_feature_of_bytes_takes_no_text(tf):
    # The message is the protobuf library's and changes with its version.
    return Run(facts={"class": raised(tf.train.BytesList, value=["text"])["class"]})


@program
def raw_numbers_of_a_length_that_is_no_multiple(tf):
    return Run({"numbers": tf.decode_raw([b"12345"], tf.int32)}, fails=True)


@program
def a_png_is_decoded_as_jpeg_and_images_have_no_shape(tf):
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    png = tf.image.encode_png(pixels)
    image = tf.image.decode_image(png)
    return Run({"pixels": tf.image.decode_jpeg(png)}, facts={"shape": str(image.shape)})


@program
def a_summary_whose_name_has_illegal_characters(tf):
    return Run({"summary": tf.summary.scalar("a b:c", 1.0)})


@program
def a_frozen_dense_layer(tf):
    x = tf.placeholder(tf.float32, [1, 2], name="x")
    y = tf.layers.dense(x, 1, name="l", kernel_initializer=tf.ones_initializer())
    tf.identity(y, name="out")
    start = tf.global_variables_initializer()

    def freeze(session):
        session.run(start)
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["out"])
        with tf.Graph().as_default(), tf.Session() as other:
            tf.import_graph_def(frozen, name="")
            out = other.run("out:0", {"x:0": [[1.0, 2.0]]})
        return {"nodes": [node.name for node in frozen.node], "out": out}

    return Run(call=freeze)


@program
def a_simple_save_twice(tf):
    x = tf.placeholder(tf.float32, name="x")
    folder = tempfile.mkdtemp() + "/sm"

    def save(session):
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": x})
        try:
            tf.saved_model.simple_save(session, folder, {"x": x}, {"y": x})
        except AssertionError as error:
            found = describe_error(error)
            return dict(found, message=found["message"].replace(folder, "FOLDER"))

    return Run(call=save)


@program
def a_meta_graph_imported_beside_its_own_graph(tf):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0], name="mv")
        session.run(v.initializer)
        prefix = tf.train.Saver().save(session, tempfile.mkdtemp() + "/mm")
        again = tf.train.import_meta_graph(prefix + ".meta")
        again.restore(session, prefix)
        names = [each.name for each in tf.global_variables()]
        return Run(facts={"names": names, "value": session.run(tf.global_variables()[1])})
