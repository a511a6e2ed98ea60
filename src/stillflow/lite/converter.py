"""tf.lite.TFLiteConverter: graphs, SavedModels and Keras models as models of TensorFlow Lite."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import stillflow as tf
from stillflow import errors
from stillflow.files import file_io, gfile
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph_util import convert_variables_to_constants
from stillflow.lite import settings
from stillflow.lite.full_integers import measure, quantize
from stillflow.lite.fusing import fuse
from stillflow.lite.lowering import lower, tensor_name
from stillflow.lite.settings import ConverterError, OpsSet, Optimize, RepresentativeDataset
from stillflow.lite.weights import quantize_weights, store_halves
from stillflow.protos import GraphDef


class _Converter:
    """Settings of both converters."""

    def __init__(self) -> None:
        self.allow_custom_ops = False
        self.target_spec = settings.TargetSpec()
        self.optimizations: list[Any] = []
        self.representative_dataset: Any = None
        self.experimental_enable_mlir_converter = False

    def _smallest_type(self) -> DType | None:
        return min(self.target_spec.supported_types, key=lambda kind: kind.size, default=None)

    def _needs_integers(self) -> bool:
        return (
            set(self.target_spec.supported_ops) == {OpsSet.TFLITE_BUILTINS_INT8}
            or self._smallest_type() == settings.INT8
        )

    def _is_optimized(self) -> bool:
        return self._needs_integers() or bool(set(self.optimizations) & set(Optimize))

    def _check_settings(self) -> None:
        """Raise an error for contradictory settings, and those of TensorFlow's converter only."""
        if self._needs_integers() and self._smallest_type() not in (None, settings.INT8):
            raise ValueError("TFLITE_BUILTINS_INT8 requires smallest supported type to be INT8.")
        data = self.representative_dataset
        if data:
            if not isinstance(data, RepresentativeDataset):
                self.representative_dataset = data = RepresentativeDataset(data)
            if data.input_gen is None:
                raise ValueError("Provide an input generator for representative_dataset")
        elif self._needs_integers():
            raise ValueError(
                "representative_dataset is required when specifying "
                "TFLITE_BUILTINS_INT8 or INT8 supported types."
            )
        unsupported = {
            "experimental_enable_mlir_converter": self.experimental_enable_mlir_converter,
            "OpsSet.SELECT_TF_OPS": OpsSet.SELECT_TF_OPS in self.target_spec.supported_ops,
        }
        for name, wanted in unsupported.items():
            if wanted:
                raise NotImplementedError(
                    f"{name} of TFLiteConverter is not supported by Stillflow"
                )

    def _content(
        self, graph_def: Any, inputs: Mapping[str, Any], outputs: Sequence[str],
        input_type: Any = settings.FLOAT, output_type: Any = settings.FLOAT,
    ) -> bytes:  # fmt: skip
        """Return the model of a frozen graph; the types count where all of it is quantized."""
        same = set(inputs) & {tensor_name(name) for name in outputs}
        if same:
            raise ConverterError(
                f"The array {min(same)} is listed in both --input_arrays and --output_arrays."
            )
        draft = lower(graph_def, inputs, outputs, self.allow_custom_ops)
        fuse(draft)
        if self._is_optimized():
            if self._smallest_type() == settings.FLOAT16:
                store_halves(draft)
            elif self.representative_dataset:
                ranges = measure(draft, self.representative_dataset.input_gen())
                quantize(
                    draft, ranges, not self._needs_integers(), input_type.as_numpy_dtype,
                    output_type.as_numpy_dtype,
                )  # fmt: skip
            else:
                quantize_weights(draft)
        return draft.content()


@export("lite.TFLiteConverter")
class TFLiteConverter(_Converter):
    """Converter of a frozen graph; the `from_` methods freeze other models.

    Args:
      graph_def: a frozen `GraphDef`.
      input_tensors: the feeds: tensors with types and shapes.
      output_tensors: what is asked for.
      input_arrays_with_shape: for graphs that cannot be imported: names and shapes instead.
      output_arrays: then the names of what is asked for.
      experimental_debug_info_func: not used.

    Raises:
      ValueError: If neither feeds nor fetches are given.
    """

    def __init__(
        self,
        graph_def: Any,
        input_tensors: Any,
        output_tensors: Any,
        input_arrays_with_shape: Any = None,
        output_arrays: Any = None,
        experimental_debug_info_func: Any = None,
    ) -> None:
        super().__init__()
        self._graph_def = graph_def
        self._input_tensors, self._output_tensors = input_tensors, output_tensors
        self._input_arrays_with_shape = input_arrays_with_shape
        self._output_arrays = output_arrays
        self.inference_type = settings.FLOAT
        self.inference_input_type: Any = None
        self.inference_output_type: Any = None
        self.output_format = settings.TFLITE
        self.quantized_input_stats: dict[str, Any] = {}
        self.default_ranges_stats: Any = None
        self.drop_control_dependency = True
        self.reorder_across_fake_quant = False
        self.change_concat_input_ranges = False
        self.dump_graphviz_dir: Any = None
        self.dump_graphviz_video = False
        if not self._has_tensors() and not (input_arrays_with_shape and output_arrays):
            raise ValueError(
                "If input_tensors and output_tensors are None, both input_arrays_with_shape and "
                "output_arrays must be defined."
            )

    @classmethod
    def from_session(cls, sess: Any, input_tensors: Any, output_tensors: Any) -> TFLiteConverter:
        """Return a converter of a session's graph, its variables as they are now."""
        return cls(_frozen(sess, output_tensors), input_tensors, output_tensors)

    @classmethod
    def from_frozen_graph(
        cls,
        graph_def_file: Any,
        input_arrays: Sequence[str],
        output_arrays: Sequence[str],
        input_shapes: Mapping[str, Any] | None = None,
    ) -> TFLiteConverter:
        """Return a converter of a frozen graph in a file, binary or text.

        Raises:
          IOError: If there is no such file, or no graph in it.
          ValueError: If the graph has variables, or there is no tensor of a name.
        """
        graph_def = _read_graph(graph_def_file)
        with tf.Graph().as_default() as graph, tf.Session() as session:
            try:
                tf.import_graph_def(graph_def, name="")
            except errors.NotFoundError:
                return cls._of_unknown(graph_def, input_arrays, output_arrays, input_shapes)
            if not _is_frozen(session):
                raise ValueError("Please freeze the graph using freeze_graph.py.")
            inputs = _tensors(graph, input_arrays)
            outputs = _tensors(graph, output_arrays)
            _set_shapes(inputs, input_shapes)
            return cls(session.graph_def, inputs, outputs)

    @classmethod
    def _of_unknown(
        cls, graph_def: Any, inputs: Sequence[str], outputs: Sequence[str], shapes: Any
    ) -> TFLiteConverter:
        if not shapes:
            raise ValueError("input_shapes must be defined for this model.")
        if set(inputs) != set(shapes):
            raise ValueError("input_shapes must contain a value for each item in input_array.")
        return cls(graph_def, None, None, [(name, shapes[name]) for name in inputs], outputs)

    @classmethod
    def from_saved_model(
        cls,
        saved_model_dir: Any,
        input_arrays: Sequence[str] | None = None,
        input_shapes: Mapping[str, Any] | None = None,
        output_arrays: Sequence[str] | None = None,
        tag_set: Any = None,
        signature_key: str | None = None,
    ) -> TFLiteConverter:
        """Return a converter of a signature of a SavedModel.

        Raises:
          IOError: If there is no SavedModel.
          ValueError: If it does not have such a signature, files next to it, or a tensor of a name.
        """
        tags = {tf.saved_model.tag_constants.SERVING} if tag_set is None else tag_set
        key = signature_key or tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        with tf.Graph().as_default() as graph, tf.Session() as session:
            meta_graph = tf.saved_model.loader.load(session, tags, saved_model_dir)
            signatures = meta_graph.signature_def
            if key not in signatures:
                raise ValueError(
                    f"No '{key}' in the SavedModel's SignatureDefs. Possible values "
                    f"are '{','.join(signatures)}'."
                )
            if tf.saved_model.ASSETS_KEY in meta_graph.collection_def:
                raise ValueError("SavedModels with assets/ directory are not supported.")
            inputs = _signature_tensors(graph, signatures[key].inputs, input_arrays)
            outputs = _signature_tensors(graph, signatures[key].outputs, output_arrays)
            _set_shapes(inputs, input_shapes)
            return cls(_frozen(session, outputs), inputs, outputs)

    @classmethod
    def from_keras_model_file(
        cls,
        model_file: Any,
        input_arrays: Sequence[str] | None = None,
        input_shapes: Mapping[str, Any] | None = None,
        output_arrays: Sequence[str] | None = None,
        custom_objects: Any = None,
    ) -> TFLiteConverter:
        """Return a converter of a Keras model in a file.

        Raises:
          ValueError: If there is no tensor of a name, or a shape does not fit.
        """
        tf.keras.backend.clear_session()
        tf.keras.backend.set_learning_phase(False)
        model = tf.keras.models.load_model(model_file, custom_objects)
        session = tf.keras.backend.get_session()
        inputs = _tensors(session.graph, input_arrays) if input_arrays else model.inputs
        outputs = _tensors(session.graph, output_arrays) if output_arrays else model.outputs
        _set_shapes(inputs, input_shapes)
        return cls(_frozen(session, outputs), inputs, outputs)

    @property
    def post_training_quantize(self) -> bool:
        """True if weights are quantized; the older form of `optimizations`."""
        _warn("post_training_quantize", "optimizations=[Optimize.DEFAULT]")
        return Optimize.DEFAULT in set(self.optimizations)

    @post_training_quantize.setter
    def post_training_quantize(self, value: bool) -> None:
        _warn("post_training_quantize", "optimizations=[Optimize.DEFAULT]")
        self.optimizations = [Optimize.DEFAULT] if value else []

    @property
    def target_ops(self) -> Any:
        """The operators that may be used; `target_spec` says it today."""
        _warn("target_ops", "target_spec.supported_ops")
        return self.target_spec.supported_ops

    @target_ops.setter
    def target_ops(self, value: Any) -> None:
        _warn("target_ops", "target_spec.supported_ops")
        self.target_spec.supported_ops = value

    def convert(self) -> bytes:
        """Return the model: the content of a .tflite file.

        Raises:
          ValueError: If shapes are not known, or settings contradict each other.
          ConverterError: If TensorFlow Lite does not have an operation; it names all of them.
        """
        inputs = self._shaped_inputs()
        self._check_input_stats()
        self._check_settings()
        self._check_types()
        if self._has_tensors():
            outputs = [tensor.name for tensor in self._output_tensors]
        else:
            outputs = list(self._output_arrays)
        return self._content(
            self._graph_def, inputs, outputs, self.inference_input_type or settings.FLOAT,
            self.inference_output_type or settings.FLOAT,
        )  # fmt: skip

    def get_input_arrays(self) -> list[str]:
        """Return the names of the inputs."""
        if self._has_tensors():
            return [tensor_name(tensor.name) for tensor in self._input_tensors]
        return [name for name, _ in self._input_arrays_with_shape]

    def _has_tensors(self) -> bool:
        return bool(self._input_tensors and self._output_tensors)

    def _shaped_inputs(self) -> dict[str, tuple[Any, list[int]]]:
        """Types and shapes of the inputs; a batch of unknown size has one example."""
        if not self._has_tensors():
            types = {
                node.name: node.attr["dtype"].type
                for node in self._graph_def.node
                if "dtype" in node.attr
            }
            return {
                name: (types.get(name) or tf.float32, list(map(int, shape)))
                for name, shape in self._input_arrays_with_shape
            }
        return {
            tensor_name(tensor.name): (tensor.dtype, _one_example(tensor))
            for tensor in self._input_tensors
        }

    def _check_input_stats(self) -> None:
        if self.quantized_input_stats:
            missing = [
                name for name in self.get_input_arrays() if name not in self.quantized_input_stats
            ]
            if missing:
                raise ValueError(
                    "Quantization input stats are not available for input tensors "
                    f"'{','.join(missing)}'."
                )

    def _check_types(self) -> None:
        real = settings.FLOAT
        if self._is_optimized():
            if self.inference_type != real:
                raise ValueError("`optimizations` require that `inference_type` is set to float.")
            ends = (self.inference_input_type, self.inference_output_type)
            if self.representative_dataset is None and any(
                kind not in (None, real) for kind in ends
            ):
                raise ValueError(
                    "Provide an inference_input_type and inference_output_type of type tf.float32."
                )
        elif self.inference_output_type is not None:
            raise ValueError(
                "inference_output_type is currently not supported if optimizations are not enabled."
            )
        kind = self.inference_type
        if not self._is_optimized():
            kind = self.inference_input_type or kind
        if kind == settings.QUANTIZED_UINT8 and not self.quantized_input_stats:
            raise ValueError(
                "std_dev and mean must be defined when inference_input_type is QUANTIZED_UINT8."
            )
        if kind != real or self.inference_type != real or self.default_ranges_stats:
            raise NotImplementedError(
                "inference_type of TFLiteConverter other than tf.float32 is "
                "not supported by Stillflow"
            )
        if self.output_format != settings.TFLITE:
            raise NotImplementedError(
                "output_format of TFLiteConverter other than TFLITE is not supported by Stillflow"
            )


@export("compat.v2.lite.TFLiteConverter")
class TFLiteConverterV2(_Converter):
    """Converter of Keras models and SavedModels, with the method names of TensorFlow 2.

    Args:
      funcs: a converter's graph, inputs and outputs; use the `from_` methods.
    """

    def __init__(self, funcs: Any, trackable_obj: Any = None) -> None:
        super().__init__()
        self._frozen: TFLiteConverter = funcs

    @classmethod
    def from_concrete_functions(cls, funcs: Sequence[Any]) -> TFLiteConverterV2:
        """Not supported: the variables of functions live in sessions here.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "TFLiteConverter.from_concrete_functions is not supported by Stillflow: use "
            "tf.compat.v1.lite.TFLiteConverter.from_session"
        )

    @classmethod
    def from_saved_model(
        cls, saved_model_dir: Any, signature_keys: Sequence[str] | None = None, tags: Any = None
    ) -> TFLiteConverterV2:
        """Return a converter of a signature of a SavedModel.

        Raises:
          ValueError: If more than one signature is asked for, or there is none of that name.
        """
        keys = list(signature_keys or ())
        if len(keys) > 1:
            raise ValueError(
                "This converter can only convert a single ConcreteFunction. "
                "Converting multiple functions is under development."
            )
        return cls(
            TFLiteConverter.from_saved_model(
                saved_model_dir, tag_set=tags, signature_key=keys[0] if keys else None
            )
        )

    @classmethod
    def from_keras_model(cls, model: Any) -> TFLiteConverterV2:
        """Return a converter of a Keras model, its variables as they are now."""
        session = tf.keras.backend.get_session()
        return cls(TFLiteConverter(_frozen(session, model.outputs), model.inputs, model.outputs))

    def convert(self) -> bytes:
        """Return the model: the content of a .tflite file.

        Raises:
          ValueError: If shapes are not known, or settings contradict each other.
          ConverterError: If TensorFlow Lite does not have an operation; it names all of them.
        """
        self._check_settings()
        converter = self._frozen
        for name in (
            "allow_custom_ops",
            "optimizations",
            "representative_dataset",
            "target_spec",
        ):
            setattr(converter, name, getattr(self, name))
        return converter.convert()


def _warn(name: str, instead: str) -> None:
    warnings.warn(f"Property {name} is deprecated, please use {instead} instead.", stacklevel=3)


def _one_example(tensor: Any) -> list[int]:
    name, shape = tensor_name(tensor.name), tensor.shape
    if not shape:
        raise ValueError(f"Provide an input shape for input array '{name}'.")
    sizes = shape.as_list()
    if None in sizes[1:]:
        raise ValueError(
            f"None is only supported in the 1st dimension. Tensor '{name}' has "
            f"invalid shape '{sizes}'."
        )
    if sizes and sizes[0] is None:
        sizes[0] = 1
        tensor.set_shape(sizes)
    return sizes


def _read_graph(path: Any) -> Any:
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    if not gfile.file_exists(path):
        raise OSError(f"File '{path}' does not exist.")
    with file_io.GFile(path, "rb") as file:
        content = file.read()
    try:
        return GraphDef.FromString(content)
    except DecodeError:
        try:
            return text_format.Parse(content.decode(), GraphDef())
        except (text_format.ParseError, UnicodeDecodeError):
            raise OSError(f"Unable to parse input file '{path}'.") from None


def _is_frozen(session: Any) -> bool:
    return not any(
        op.type.startswith("Variable") or op.type.endswith("VariableOp")
        for op in session.graph.get_operations()
    )


def _frozen(session: Any, outputs: Sequence[Any]) -> Any:
    """Return a session's graph with its variables as constants."""
    graph_def = session.graph.as_graph_def()
    if _is_frozen(session):
        return graph_def
    return convert_variables_to_constants(
        session, graph_def, [tensor.op.name for tensor in outputs]
    )


def _tensors(graph: Any, names: Sequence[str]) -> list[Any]:
    found = {
        tensor_name(tensor.name): tensor for op in graph.get_operations() for tensor in op.outputs
    }
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"Invalid tensors '{','.join(missing)}' were found.")
    return [found[name] for name in names]


def _signature_tensors(graph: Any, infos: Any, names: Sequence[str] | None) -> list[Any]:
    if names:
        return _tensors(graph, sorted(names))
    return [graph.get_tensor_by_name(name) for name in sorted(infos[key].name for key in infos)]


def _set_shapes(tensors: Sequence[Any], shapes: Mapping[str, Any] | None) -> None:
    named = {tensor_name(tensor.name): tensor for tensor in tensors}
    for name, shape in (shapes or {}).items():
        if name not in named:
            raise ValueError(f"Invalid tensor '{name}' found in tensor shapes map.")
        if shape is None:
            continue
        try:
            named[name].set_shape(shape)
        except ValueError as error:
            raise ValueError(
                f"The shape of tensor '{name}' cannot be changed from "
                f"{named[name].shape} to {shape}. {error}"
            ) from None
