"""Program that trains a little and writes all that TensorBoard can show into a folder."""

import os
import sys

import numpy as np
import tensorflow as tf
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import summary as custom_scalar
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams import summary as hparams
from tensorboard.plugins.pr_curve import summary as pr_curve
from tensorflow.contrib.tensorboard.plugins import projector

STEPS, WORDS = 10, 20


def build():
    x = tf.placeholder(tf.float32, [None, 64], name="pixels")
    y = tf.placeholder(tf.int64, [None], name="labels")
    with tf.name_scope("layer1"):
        weights = tf.Variable(tf.random_normal([64, 16], stddev=0.1, seed=1), name="weights")
        hidden = tf.nn.relu(tf.matmul(x, weights))
    with tf.name_scope("layer2"):
        last = tf.Variable(tf.random_normal([16, 3], stddev=0.1, seed=2), name="weights")
        logits = tf.matmul(hidden, last)
    with tf.name_scope("training"):
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        loss = tf.reduce_mean(losses)
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
    tf.summary.scalar("loss", loss)
    tf.summary.histogram("weights", weights)
    tf.summary.image("pictures", tf.reshape(x, [-1, 8, 8, 1]))
    tf.summary.audio("sound", tf.sin(tf.range(4000.0) / 10.0)[None], 8000.0)
    tf.summary.text("words", tf.constant("some **bold words**"))
    pr_curve.op(
        "curve",
        tf.equal(y, 0),
        tf.nn.softmax(logits)[:, 0],
        num_thresholds=11,
        collections=[tf.GraphKeys.SUMMARIES],
    )
    return x, y, train


def settings(writer):
    chart = layout_pb2.Chart(
        title="all losses", multiline=layout_pb2.MultilineChartContent(tag=["loss.*"])
    )
    writer.add_summary(
        custom_scalar.pb(
            layout_pb2.Layout(category=[layout_pb2.Category(title="losses", chart=[chart])])
        )
    )
    rate = api_pb2.HParamInfo(name="rate", type=api_pb2.DATA_TYPE_FLOAT64)
    metric = api_pb2.MetricInfo(name=api_pb2.MetricName(tag="loss"))
    writer.add_summary(hparams.experiment_pb([rate], [metric]))
    writer.add_summary(hparams.session_start_pb({"rate": 0.01}))
    writer.add_summary(hparams.session_end_pb(api_pb2.STATUS_SUCCESS))


def embed(writer, folder, session):
    table = tf.Variable(np.random.RandomState(0).randn(WORDS, 5).astype("f"), name="embeddings")
    session.run(table.initializer)
    tf.train.Saver([table]).save(session, os.path.join(folder, "model.ckpt"), STEPS)
    with open(os.path.join(folder, "words.tsv"), "w") as file:
        file.writelines(f"word{number}\n" for number in range(WORDS))
    config = projector.ProjectorConfig()
    config.embeddings.add(tensor_name=table.name, metadata_path="words.tsv")
    projector.visualize_embeddings(writer, config)


def main(folder):
    x, y, train = build()
    merged = tf.summary.merge_all()
    rng = np.random.RandomState(0)
    with tf.Session() as session, tf.summary.FileWriter(folder, session.graph) as writer:
        session.run(tf.global_variables_initializer())
        for step in range(STEPS):
            feed = {x: rng.rand(30, 64), y: rng.randint(0, 3, 30)}
            summary, _ = session.run([merged, train], feed)
            writer.add_summary(summary, step)
        trace = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        session.run(train, feed, options=trace, run_metadata=metadata)
        writer.add_run_metadata(metadata, "step 10", STEPS)
        settings(writer)
        embed(writer, folder, session)


if __name__ == "__main__":
    main(sys.argv[1])
