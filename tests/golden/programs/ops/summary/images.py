"""Summaries of images: conversion to bytes, the images of a batch that count, errors."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.summary.operations import without_pixels
from tests.golden.registry import Run, describe_error, program, raised


def shown(tf, **summaries):
    """Return a run whose values are the messages of summaries, and their decoded pictures."""

    def call(session):
        found = {}
        for name, summary in summaries.items():
            message, images = without_pixels(tf, session.run(summary))
            found[name] = message
            for index, image in enumerate(images):
                found[f"{name} {index}"] = image
        return found

    return Run(call=call)


def noise(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


@program
def bytes_of_each_depth(tf):
    images = {f"depth{depth}": np.arange(2 * 3 * 4 * depth).reshape(2, 3, 4, depth) * 3 % 256
              for depth in (1, 3, 4)}
    return shown(tf, **{name: tf.summary.image(name, value.astype(np.uint8))
                        for name, value in images.items()})


@program
def how_many_are_taken(tf):
    images = tf.constant(np.arange(12, dtype=np.uint8).reshape(4, 1, 3, 1))
    return shown(tf, **{f"up_to_{limit}": tf.summary.image("i", images, max_outputs=limit)
                        for limit in (1, 2, 3, 4, 9)})


@program
def none_in_the_batch(tf):
    return shown(tf, none=tf.summary.image("i", tf.zeros([0, 2, 2, 3])))


@program
def numbers_from_zero(tf):
    values = abs(noise(2, 3, 3, 3))
    return shown(
        tf, plain=tf.summary.image("plain", values), small=tf.summary.image("small", values * 1e-5),
        large=tf.summary.image("large", values * np.float32(1e30)),
        zero=tf.summary.image("zero", values * 0), half=tf.summary.image("half", values / 500))


@program
def numbers_around_zero(tf):
    values = noise(3, 3, 3, 1, seed=1)
    return shown(
        tf, plain=tf.summary.image("plain", values), small=tf.summary.image("small", values * 1e-5),
        below=tf.summary.image("below", -abs(values)), one=tf.summary.image("one", values[:1] * 7))


@program
def numbers_of_other_types(tf):
    values = noise(2, 2, 3, 3, seed=2)
    return shown(
        tf, half=tf.summary.image("half", values.astype(np.float16)),
        double=tf.summary.image("double", values.astype(np.float64)),
        above=tf.summary.image("above", abs(values).astype(np.float16)))


def holes(*shape):
    values = abs(noise(*shape, seed=3))
    values[0, 0, 0, 0], values[0, 1, 1, 0], values[-1, 0, 1, 0] = np.nan, np.inf, -np.inf
    return values


@program
def holes_are_red(tf):
    return shown(tf, **{f"depth{depth}": tf.summary.image("i", holes(2, 2, 3, depth))
                        for depth in (1, 3, 4)})


@program
def holes_of_a_chosen_color(tf):
    def image(depth, color):
        return tf.raw_ops.ImageSummary(
            tag="t", tensor=holes(2, 2, 3, depth), bad_color=tf.make_tensor_proto(
                color, tf.uint8))

    return shown(tf, three=image(3, [1, 2, 3]), four=image(4, [9, 8, 7, 6]),
                 more_than_wanted=image(1, [5, 6, 7]))


@program
def nothing_but_holes(tf):
    return shown(tf, nan=tf.summary.image("i", np.full([1, 2, 2, 3], np.nan, np.float32)),
                 infinite=tf.summary.image("j", np.full([1, 2, 2, 1], np.inf, np.float16)))


@program
def families_and_scopes(tf):
    image = np.zeros([1, 1, 1, 1], np.uint8)
    found = {"plain": tf.summary.image("a b", image, family="fam")}
    with tf.name_scope("outer"):
        found["scoped"] = tf.summary.image("i", image, 1)
        found["again"] = tf.summary.image("i", image, 1, collections=["mine"])
    return shown(tf, **found)


def refused(tf, make, feed=None):
    def call(session):
        try:
            session.run(make, feed)
        except Exception as error:
            return {"error": describe_error(error)}
        raise AssertionError("nothing was raised")

    return Run(call=call)


@program
def shapes_refused_at_run_time(tf):
    x = tf.placeholder(tf.float32)
    summary = tf.summary.image("i", x)
    shapes = [(2, 2, 3), (1, 2, 2, 2), (1, 2, 2, 5), (1, 0, 2, 3), (2, 3), (), (1, 2, 2, 0)]
    return [refused(tf, summary, {x: np.zeros(shape)}) for shape in shapes]


@program
def refused_while_building(tf):
    image = np.zeros([1, 2, 2, 3], np.float32)
    facts = {"rank three": tf.summary.image("rank three", image[0]).name}
    with tf.Graph().as_default():  # what such a call leaves behind
        facts["int32"] = raised(tf.summary.image, "i", tf.constant(image, tf.int32))
        facts["string"] = raised(tf.summary.image, "i", tf.constant([["a"]]))
        facts["none of them"] = raised(tf.summary.image, "i", image, max_outputs=0)
    return Run(facts=facts)


@program
def colors_refused(tf):
    def image(color, dtype):
        return tf.raw_ops.ImageSummary(
            tag="t", tensor=np.zeros([1, 1, 1, 3], np.float32),
            bad_color=tf.make_tensor_proto(color, dtype))

    return [refused(tf, image([1, 2], tf.uint8)), refused(tf, image([1.0, 2, 3], tf.float32)),
            refused(tf, image([[1, 2, 3]], tf.uint8))]
