"""Checkpoints that are cut off, changed, or not there: classes and messages of errors."""

import os
import re
import shutil
import struct
import tempfile

import numpy as np
from tests.golden.registry import Run, describe_error, program

DATA, INDEX = ".data-00000-of-00001", ".index"


def variables(tf, parts):
    split = tf.fixed_size_partitioner(2) if parts else None
    tf.get_variable("a", [4, 3], initializer=tf.ones_initializer(), partitioner=split)
    tf.get_variable("b", [2], tf.int64, tf.zeros_initializer())
    tf.get_variable("c", [2], tf.string, tf.constant_initializer([b"xx", b"yyyy"]))


def saved(tf, folder, parts, version):
    prefix = os.path.join(folder, "m")
    with tf.Graph().as_default(), tf.Session() as session:
        variables(tf, parts)
        session.run(tf.global_variables_initializer())
        tf.train.Saver(write_version=version).save(session, prefix)
    return prefix


def restored(tf, prefix, parts):
    with tf.Graph().as_default(), tf.Session() as session:
        variables(tf, parts)
        tf.train.Saver().restore(session, prefix)


def initialized(tf, prefix, parts):
    with tf.Graph().as_default(), tf.Session() as session:
        variables(tf, parts)
        tf.train.init_from_checkpoint(prefix, {"/": "/"})
        session.run(tf.global_variables_initializer())


def read(tf, prefix, parts):
    reader = tf.train.NewCheckpointReader(prefix)
    names = sorted(reader.get_variable_to_shape_map())
    return [name + str(np.shape(reader.get_tensor(name))) for name in names]


USES = [
    restored,
    initialized,
    read,
    lambda tf, prefix, parts: tf.train.list_variables(prefix),
    lambda tf, prefix, parts: tf.train.load_variable(prefix, "a").tolist(),
    lambda tf, prefix, parts: tf.train.checkpoint_exists(prefix),
]


def outcome(folder, function, *arguments):
    try:
        return str(function(*arguments)).replace(folder, "FOLDER")
    except Exception as error:
        found = describe_error(error)
        return (found["class"] + ": " + found["message"]).replace(folder, "FOLDER")


def outcomes(tf, damage, parts=False, version=2, uses=tuple(USES)):
    folder = tempfile.mkdtemp()
    try:
        prefix = saved(tf, folder, parts, version)
        damage(prefix)
        return [outcome(folder, use, tf, prefix, parts) for use in uses]
    finally:
        shutil.rmtree(folder)


def changed(ending, change):
    def damage(prefix):
        with open(prefix + ending, "rb") as file:
            content = file.read()
        with open(prefix + ending, "wb") as file:
            file.write(change(content))

    return damage


def cut(ending, size):
    return changed(ending, lambda content: content[:size])


def flipped(ending, place):
    return changed(
        ending,
        lambda content: content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :],
    )


def removed(ending):
    return lambda prefix: os.remove(prefix + ending)


@program
def damaged_data(tf):
    def call(session):
        found = {}
        for parts in (False, True):
            kind = "parts " if parts else "whole "
            for size in (0, 1, 40, -1):
                found[kind + "cut " + str(size)] = outcomes(tf, cut(DATA, size), parts)
            found[kind + "gone"] = outcomes(tf, removed(DATA), parts)
            found[kind + "longer"] = outcomes(tf, changed(DATA, lambda all: all + b"x"), parts)
        return found

    return Run(call=call)


@program
def damaged_indexes(tf):
    def call(session):
        found = {}
        for parts in (False, True):
            kind = "parts " if parts else "whole "
            for size in (0, 1, 30, -1, -20, -48):
                found[kind + "cut " + str(size)] = outcomes(tf, cut(INDEX, size), parts)
            found[kind + "flipped"] = outcomes(tf, flipped(INDEX, 20), parts)
            found[kind + "gone"] = outcomes(tf, removed(INDEX), parts)
            found[kind + "noise"] = outcomes(tf, changed(INDEX, lambda all: b"noise" * 20), parts)
        return found

    return Run(call=call)


def crc32c(content):
    """Return the checksum of a block, as files hold it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def exchanged(one, other):
    """Exchange the one-letter keys of two tensors, whose blocks stay whole."""

    def change(content):
        low, high = content[-48:-46]  # where the block behind begins
        block = bytearray(
            content[: (low if low < 128 else low - 128 + 128 * high) - 4]
        )  # with its kind
        places = [
            re.search(b"\\x00\\x01." + key, block, re.DOTALL).end() - 1 for key in (one, other)
        ]
        for place, key in zip(places, (other, one)):
            block[place : place + 1] = key
        return bytes(block) + struct.pack("<I", crc32c(block)) + content[len(block) + 4 :]

    return changed(INDEX, change)


@program
def keys_out_of_order(tf):
    def call(session):
        pairs = {"a and b": (b"a", b"b"), "a and c": (b"a", b"c"), "b and c": (b"b", b"c")}
        uses = [use for use in USES if use is not initialized]  # the first error of several
        return {
            kind: outcomes(tf, exchanged(*pair), uses=uses) for kind, pair in sorted(pairs.items())
        }

    return Run(call=call)


@program
def damaged_old_checkpoints(tf):
    def call(session):
        found = {"flipped": outcomes(tf, flipped("", 20), version=1)}
        for size in (0, 1, 30, -1):
            found["cut " + str(size)] = outcomes(tf, cut("", size), version=1)
        return found

    return Run(call=call)


@program
def checkpoints_that_are_missing(tf):
    def call(session):
        folder = tempfile.mkdtemp()
        names = ["no/such", "nosuch", "", folder, folder + "/", folder + "/x*"]
        try:
            found = {
                name.replace(folder, "FOLDER"): [
                    outcome(folder, use, tf, name, False) for use in USES
                ]
                for name in names
            }
            reader = tf.train.NewCheckpointReader(saved(tf, folder, False, 2))
            found["tensor 3"] = outcome(folder, reader.get_tensor, 3)
            found["tensor missing"] = outcome(folder, reader.get_tensor, "missing")
        finally:
            shutil.rmtree(folder)
        return found

    return Run(call=call)


STATES = {
    "noise": b"\xff\xfegarbage",
    "text": b"hello",
    "no path": b'all_model_checkpoint_paths: "m"\n',
    "missing": b'model_checkpoint_path: "gone"\n',
    "unknown field": b'model_checkpoint_path: "m"\nfoo: 1\n',
    "empty path": b'model_checkpoint_path: ""\n',
    "cut": b'model_checkpoint_path: "m',
}


@program
def damaged_state_files(tf):
    def call(session):
        found = {}
        for kind in sorted(STATES):
            folder = tempfile.mkdtemp()
            try:
                saved(tf, folder, False, 2)
                with open(os.path.join(folder, "checkpoint"), "wb") as file:
                    file.write(STATES[kind])
                found[kind] = [
                    outcome(folder, tf.train.latest_checkpoint, folder),
                    outcome(folder, lambda: tf.train.get_checkpoint_state(folder) is None),  # noqa: B023
                    outcome(folder, tf.train.list_variables, folder),
                ]
            finally:
                shutil.rmtree(folder)
        return found

    return Run(call=call)
