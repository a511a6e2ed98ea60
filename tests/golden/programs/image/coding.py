"""Images as files."""

from __future__ import annotations

import glob
import hashlib
import itertools
import os

import numpy as np
from tests.golden.registry import Run, describe_error, program

JPEG_FILES = sorted(glob.glob("tests/golden/files/jpeg/*.jpg"))
SETTINGS_FILES = sorted(glob.glob("tests/golden/files/jpeg_settings/*.jpg"))


def _picture(height, width, channels):
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 100 * np.sin(x / (5.0 + k) + y / (7.0 - k)) for k in range(channels)]
    return np.stack(planes, -1).astype(np.uint8)


@program
def jpeg(tf):
    fetches = {}
    for height, width, channels in ((37, 53, 3), (8, 8, 1), (1, 1, 3), (40, 64, 3)):
        for options in ({}, {"progressive": True}, {"chroma_downsampling": False}):
            key = f"{height}x{width}x{channels}_" + "".join(options)
            data = tf.image.encode_jpeg(_picture(height, width, channels), **options)
            fetches[key] = [
                tf.image.decode_jpeg(data), tf.image.decode_jpeg(data, channels=1),
                tf.image.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE"),
                tf.image.decode_jpeg(data, fancy_upscaling=False),
                tf.image.extract_jpeg_shape(data), tf.image.is_jpeg(data),
            ]  # fmt: skip
    return Run(fetches)


def _digest(image):
    return str(image.shape) + " " + hashlib.sha1(image.tobytes()).hexdigest()


@program
def jpeg_files(tf):
    """Every pixel of files with odd sizes, all subsamplings, CMYK, progressive scans, EXIF."""
    contents = tf.placeholder(tf.string, [])
    ways = {
        "plain": {},
        "accurate": {"dct_method": "INTEGER_ACCURATE"},
        "rgb": {"channels": 3},
        "rough": {"fancy_upscaling": False},
        "recovered": {"try_recover_truncated": True},
    }
    images = {way: tf.image.decode_jpeg(contents, **options) for way, options in ways.items()}
    shape = tf.image.extract_jpeg_shape(contents)

    def call(session):
        values = {}
        for path in JPEG_FILES:
            with open(path, "rb") as stream:
                data = stream.read()
            name = os.path.basename(path)
            values[name] = {}
            for way, image in dict(images, shape=shape).items():
                if (name, way) == ("truncated.jpg", "recovered"):
                    continue  # the rest depends on the version of libjpeg
                try:
                    values[name][way] = _digest(session.run(image, {contents: data}))
                except tf.errors.InvalidArgumentError as error:
                    values[name][way] = describe_error(error)
        return values

    return Run(call=call)


@program
def jpeg_settings(tf):
    """Every pixel of files of each kind by every transform, interpolation, ratio and colours."""
    contents = tf.placeholder(tf.string, [])
    images = {}
    for ratio, fancy, method, channels in itertools.product(
        (1, 2, 4, 8), (True, False), ("", "INTEGER_ACCURATE"), (0, 1, 3)
    ):
        images[f"{ratio} {fancy} {method} {channels}"] = tf.image.decode_jpeg(
            contents, channels, ratio, fancy, dct_method=method
        )

    def call(session):
        values = {}
        for path in SETTINGS_FILES:
            with open(path, "rb") as stream:
                data = stream.read()
            values[os.path.basename(path)] = {
                way: _digest(session.run(image, {contents: data})) for way, image in images.items()
            }
        return values

    return Run(call=call)


@program
def cropped_jpegs(tf):
    contents, window = tf.placeholder(tf.string, []), tf.placeholder(tf.int32, [4])
    with open("tests/golden/files/jpeg/odd_420.jpg", "rb") as stream:
        data = stream.read()
    crop = tf.image.decode_and_crop_jpeg(contents, window)
    windows = ([0, 0, 37, 53], [3, 5, 20, 30], [36, 52, 1, 1])
    refused = ([-1, 0, 3, 3], [0, 0, 38, 53], [3, 3, 0, 3], [0, 0, 37, 54])
    static = tf.image.decode_and_crop_jpeg(contents, [1, 2, -1, 4]).shape.as_list()
    return [
        Run(
            {"crop": crop},
            [{contents: data, window: each} for each in windows],
            steps=3,
            facts={"static": static},
        ),
    ] + [Run({"crop": crop}, {contents: data, window: each}, fails=True) for each in refused]


@program
def edges_of_cropped_jpegs(tf):
    """Chroma of columns where a part begins or ends, in blocks and between them."""
    fetches = {}
    windows = ([2, 16, 4, 10], [3, 16, 3, 13], [1, 15, 4, 9], [0, 5, 5, 3], [4, 16, 3, 2],
               [5, 29, 2, 1], [0, 0, 6, 7], [0, 0, 6, 8])  # fmt: skip
    for name in ("odd_420", "odd_422", "odd_444", "progressive"):
        with open(f"tests/golden/files/jpeg/{name}.jpg", "rb") as stream:
            data = stream.read()
        for window in windows:
            for ratio in (1, 2):
                part = [size // ratio or 1 for size in window]
                options = {"ratio": ratio, "channels": 3}
                crop = tf.image.decode_and_crop_jpeg(data, part, **options)
                fetches[f"{name} {window} {ratio}"] = crop
    return Run(fetches)


@program
def png(tf):
    fetches = {}
    for channels in (1, 2, 3, 4):
        picture = _picture(9, 11, channels)
        data = tf.image.encode_png(picture)
        wide = tf.image.encode_png(picture.astype(np.uint16) * 251)
        fetches[str(channels)] = [
            tf.image.decode_png(source, channels=wanted, dtype=kind)
            for source in (data, wide)
            for wanted in (0, 1, 3, 4)
            for kind in (tf.uint8, tf.uint16)
        ]
    return Run(fetches)


@program
def any_format(tf):
    data = tf.image.encode_png(_picture(5, 6, 3))
    return Run(
        {
            "png": tf.image.decode_image(data, dtype=tf.float32),
            "quality": tf.image.adjust_jpeg_quality(_picture(9, 8, 3), 40),
        }
    )


@program
def undecodable(tf):
    contents = tf.placeholder(tf.string, [])
    decoders = (tf.image.decode_jpeg, tf.image.decode_png, tf.image.decode_bmp)
    runs = []
    for decode in decoders:
        image = decode(contents)
        for data in (b"", b"not an image\n\x00\xff", b"\x89PNG\r\n\x1a\nabc", b"\xff\xd8\xffabc"):
            runs.append(Run({"image": image}, {contents: data}, fails=True))
    return runs
