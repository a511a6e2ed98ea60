"""Images as files."""

from __future__ import annotations

import numpy as np

from ..registry import Run, program


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
