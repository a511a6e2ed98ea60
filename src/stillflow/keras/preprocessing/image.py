"""Pictures and random variants of them: `keras_preprocessing`, with the defaults of the backend.

Like TensorFlow 1.15, it needs Pillow for files and SciPy for rotations, shifts, shears and zooms.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from typing import Any

from keras_preprocessing import image
from keras_preprocessing.image import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    load_img,
    random_brightness,
    random_channel_shift,
    random_rotation,
    random_shear,
    random_shift,
    random_zoom,
)

from stillflow._export import export
from stillflow.graph.arrays import Array
from stillflow.keras.backend.config import floatx, image_data_format
from stillflow.keras.utils.sequences import Sequence
from stillflow.layers.signatures import arguments

export("keras.preprocessing.image.apply_affine_transform")(apply_affine_transform)
export("keras.preprocessing.image.apply_brightness_shift")(apply_brightness_shift)
export("keras.preprocessing.image.apply_channel_shift")(apply_channel_shift)
export("keras.preprocessing.image.load_img")(load_img)
export("keras.preprocessing.image.random_brightness")(random_brightness)
export("keras.preprocessing.image.random_channel_shift")(random_channel_shift)
export("keras.preprocessing.image.random_rotation")(random_rotation)
export("keras.preprocessing.image.random_shear")(random_shear)
export("keras.preprocessing.image.random_shift")(random_shift)
export("keras.preprocessing.image.random_zoom")(random_zoom)


def _with_defaults(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a constructor, those that are the backend's to choose filled in."""
    chosen = arguments(given)
    chosen["data_format"] = chosen["data_format"] or image_data_format()
    chosen["dtype"] = chosen["dtype"] or floatx()
    return chosen


@export("keras.preprocessing.image.array_to_img")
def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None
) -> Any:  # fmt: skip
    """Return an array as a picture of Pillow.

    Args:
      x: of three dimensions; one, three or four channels.
      data_format: "channels_last" or "channels_first".
      scale: whether its numbers are stretched to 0...255.
      dtype: in which to compute.

    Raises:
      ImportError: without Pillow.
      ValueError: if `x` is no picture.
    """
    return image.array_to_img(x, data_format or image_data_format(), scale, dtype or floatx())


@export("keras.preprocessing.image.img_to_array")
def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> Array:
    """Return a picture of Pillow as an array.

    Args:
      img: the picture.
      data_format: "channels_last" or "channels_first".
      dtype: of the array.
    """
    return image.img_to_array(img, data_format or image_data_format(), dtype or floatx())


@export("keras.preprocessing.image.save_img")
def save_img(
    path: Any, x: Any, data_format: str | None = None, file_format: str | None = None,
    scale: bool = True, **kwargs: Any,
) -> None:  # fmt: skip
    """Write an array as a picture.

    Args:
      path: a file's name, or a file.
      x: as `array_to_img` takes it.
      data_format: "channels_last" or "channels_first".
      file_format: if the name does not tell, or there is none.
      scale: whether its numbers are stretched to 0...255.
      **kwargs: what else Pillow's `save` takes.
    """
    data_format = data_format or image_data_format()
    image.save_img(path, x, data_format, file_format, scale, **kwargs)


@export("keras.preprocessing.image.Iterator")
class Iterator(image.Iterator, Sequence):
    """Batches of pictures, without end or by number."""


@export("keras.preprocessing.image.DirectoryIterator")
class DirectoryIterator(image.DirectoryIterator, Iterator):
    """Batches of the pictures in a folder, which has a folder for each class.

    Its arguments are those of `ImageDataGenerator.flow_from_directory`.
    """

    def __init__(
        self, directory: Any, image_data_generator: Any, target_size: Items[int] = (256, 256),
        color_mode: str = "rgb", classes: Items[str] | None = None,
        class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True,
        seed: int | None = None, data_format: str | None = None, save_to_dir: Any = None,
        save_prefix: str = "", save_format: str = "png", follow_links: bool = False,
        subset: str | None = None, interpolation: str = "nearest", dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(**_with_defaults(locals()))


@export("keras.preprocessing.image.NumpyArrayIterator")
class NumpyArrayIterator(image.NumpyArrayIterator, Iterator):
    """Batches of the pictures in an array.

    Its arguments are those of `ImageDataGenerator.flow`.
    """

    def __init__(
        self, x: Any, y: Any, image_data_generator: Any, batch_size: int = 32,
        shuffle: bool = False, sample_weight: Any = None, seed: int | None = None,
        data_format: str | None = None, save_to_dir: Any = None, save_prefix: str = "",
        save_format: str = "png", subset: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(**_with_defaults(locals()))


@export("keras.preprocessing.image.ImageDataGenerator")
class ImageDataGenerator(image.ImageDataGenerator):
    """Random variants of pictures, in batches: `flow`, `flow_from_directory`.

    Args:
      featurewise_center, featurewise_std_normalization, zca_whitening, zca_epsilon: what is learned
        by `fit` from all pictures and applied to each.
      samplewise_center, samplewise_std_normalization: what is done with each by itself.
      rotation_range: in degrees.
      width_shift_range, height_shift_range: in pixels from 1 on, below in shares of the size.
      brightness_range: the least and the largest factor.
      shear_range: in degrees.
      zoom_range: the least and the largest factor, or how far they are from 1.
      channel_shift_range: how far numbers may be moved.
      fill_mode, cval: what is seen outside: "nearest", "reflect", "wrap", "constant".
      horizontal_flip, vertical_flip: whether to mirror half of them.
      rescale: a factor; applied after the rest.
      preprocessing_function: applied to each picture, an array of three dimensions.
      data_format: "channels_last" or "channels_first".
      validation_split: the share that is kept for `subset="validation"`.
      dtype: of the batches.
    """

    def __init__(
        self, featurewise_center: bool = False, samplewise_center: bool = False,
        featurewise_std_normalization: bool = False, samplewise_std_normalization: bool = False,
        zca_whitening: bool = False, zca_epsilon: float = 1e-06, rotation_range: float = 0,
        width_shift_range: Any = 0.0, height_shift_range: Any = 0.0, brightness_range: Any = None,
        shear_range: float = 0.0, zoom_range: Any = 0.0, channel_shift_range: float = 0.0,
        fill_mode: str = "nearest", cval: float = 0.0, horizontal_flip: bool = False,
        vertical_flip: bool = False, rescale: float | None = None,
        preprocessing_function: Any = None, data_format: str | None = None,
        validation_split: float = 0.0, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(**_with_defaults(locals()))
