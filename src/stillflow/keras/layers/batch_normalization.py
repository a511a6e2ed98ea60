"""Batch normalization."""

from __future__ import annotations

from typing import Any

from stillflow.distribute.context import get_strategy, has_strategy
from stillflow.graph import dtypes
from stillflow.graph.api import colocate_with, control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.layers import utils
from stillflow.layers.base_layer import Layer
from stillflow.layers.identifiers import (
    constraint_of,
    initializer_of,
    regularizer_of,
    serialized,
)
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.learning_phase import learning_phase
from stillflow.nn.batch_normalization import batch_normalization, fused_batch_norm
from stillflow.nn.moments import moments
from stillflow.ops.arrays.fill import ones_like, zeros_like
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import reshape, shape, size
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity, stop_gradient
from stillflow.ops.math.binary import maximum, minimum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_mean
from stillflow.ops.math.unary import sqrt
from stillflow.ops.nn.activations import relu
from stillflow.platform import tf_logging as logging
from stillflow.variables.base import VariableAggregation, VariableSynchronization
from stillflow.variables.state_ops import assign, assign_sub

_CLIPPING = ["rmax", "rmin", "dmax"]


def _elements(inputs: Any) -> Any:
    """Return the number of elements where a strategy may give a replica none; else None."""
    extended = get_strategy().extended if has_strategy() else None
    empty = getattr(extended, "experimental_enable_get_next_as_optional", False)
    return size(inputs) if empty else None


def _unless_empty(count: Any, value: Any) -> Any:
    """Return a value, or zeros where `count` elements were none."""
    return value if count is None else where(count > 0, value, zeros_like(value))


@export("keras.layers.BatchNormalization")
class BatchNormalization(Layer):
    """Normalizes by the batch's mean and variance in training, else by their moving averages.

    Args:
      axis: what is normalized by itself: one axis, the channels, or a list of axes.
      momentum: the share that moving averages keep in a step.
      epsilon: added to variances.
      center, scale: whether `beta` is added and `gamma` multiplied with.
      ..._initializer, ..._regularizer, ..._constraint: of the variables.
      renorm: whether to renormalize in training by moving averages (Ioffe, 2017).
      renorm_clipping: bounds "rmin", "rmax", "dmax" of the correction.
      renorm_momentum: the share that the averages of renormalization keep.
      fused: False never to use the fused op; None and True use it where that is possible.
      trainable: whether `beta` and `gamma` are trained.
      virtual_batch_size: the size of parts of the batch that are normalized apart.
      adjustment: `f(shape of the inputs)` gives (scale, bias) for normalized values in training.
    """

    _in_version_2 = False

    def __init__(
        self,
        axis: Any = -1,
        momentum: Any = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: dict[str, Any] | None = None,
        renorm_momentum: Any = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        if not isinstance(axis, (int, list)):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        self.axis: Any = axis[:] if isinstance(axis, list) else axis
        self.momentum, self.epsilon = momentum, epsilon
        self.center, self.scale = center, scale
        self.beta_initializer = initializer_of(beta_initializer)
        self.gamma_initializer = initializer_of(gamma_initializer)
        self.moving_mean_initializer = initializer_of(moving_mean_initializer)
        self.moving_variance_initializer = initializer_of(moving_variance_initializer)
        self.beta_regularizer = regularizer_of(beta_regularizer)
        self.gamma_regularizer = regularizer_of(gamma_regularizer)
        self.beta_constraint = constraint_of(beta_constraint)
        self.gamma_constraint = constraint_of(gamma_constraint)
        self.renorm, self.adjustment = renorm, adjustment
        self.virtual_batch_size = virtual_batch_size
        self.fused, self.supports_masking = True if fused is None else fused, True
        self.trainable = trainable
        if renorm:
            self.renorm_clipping = renorm_clipping or {}
            if set(self.renorm_clipping) - set(_CLIPPING):
                raise ValueError(
                    f"renorm_clipping {renorm_clipping} contains keys not in {_CLIPPING}"
                )
            self.renorm_momentum = renorm_momentum

    # ---- building

    @property
    def _param_dtype(self) -> DType:
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        return dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype

    def build(self, input_shape: Any) -> None:
        """Make `gamma`, `beta` and the moving averages, with the sizes of the axes."""
        input_shape = TensorShape(input_shape)
        if not input_shape.ndims:
            raise ValueError("Input has undefined rank:", input_shape)
        rank = input_shape.ndims
        self._normalize_axes(rank)
        plain = not (self.renorm or self.virtual_batch_size is not None or self.adjustment)
        if self.fused in (True,):  # 1 as well
            self.fused = rank == 4 and plain and self.axis in ([1], [3])
        elif self.fused and self.axis not in ([1], [3]):  # a truth of another type insists
            raise ValueError(
                "Unsupported axis, fused batch norm only supports axis == [1] or axis == [3]"
            )
        sizes = {axis: input_shape.dims[axis].value for axis in self.axis}
        if None in sizes.values():
            raise ValueError("Input has undefined `axis` dimension. Input shape: ", input_shape)
        self.input_spec = InputSpec(ndim=rank, axes=sizes)
        self._param_shape: Any = tuple(sizes.values())
        if len(sizes) > 1 or self.virtual_batch_size is not None:
            self._param_shape = [sizes.get(axis, 1) for axis in range(rank)]
        if self.virtual_batch_size is not None:
            self._param_shape.insert(1, 1)
            self.axis = [axis + 1 for axis in self.axis]
        self.gamma = self._add_parameter("gamma", self.scale, 1.0)
        self.beta = self._add_parameter("beta", self.center, 0.0)
        scope = getattr(self, "_scope", None)
        partitioner = scope.partitioner if scope else None
        try:
            if scope:
                scope.set_partitioner(None)
            self._add_averages()
        finally:
            if scope and partitioner:
                scope.set_partitioner(partitioner)
        self.built = True

    def _normalize_axes(self, rank: int) -> None:
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        self.axis = [axis + rank if axis < 0 else axis for axis in axes]
        for axis in self.axis:
            if not 0 <= axis < rank:
                raise ValueError(f"Invalid axis: {axis}")
        if len(self.axis) != len(set(self.axis)):
            raise ValueError(f"Duplicate axis: {self.axis}")
        if self.virtual_batch_size is None:
            return
        if self.virtual_batch_size <= 0:
            raise ValueError(
                "virtual_batch_size must be a positive integer that divides the true batch size "
                "of the input Tensor"
            )
        if 0 in self.axis:
            raise ValueError(
                "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot "
                "include 0"
            )
        if self.adjustment is not None:
            raise ValueError("When using virtual_batch_size, adjustment cannot be specified")

    def _add_parameter(self, name: str, wanted: bool, otherwise: float) -> Any:
        """`gamma` or `beta`; the fused op needs a constant where there is none."""
        if wanted:
            return self.add_weight(
                name=name, shape=self._param_shape, dtype=self._param_dtype,
                initializer=getattr(self, f"{name}_initializer"),
                regularizer=getattr(self, f"{name}_regularizer"),
                constraint=getattr(self, f"{name}_constraint"),
                trainable=True, experimental_autocast=False,
            )  # fmt: skip
        if self.fused:
            value = constant(otherwise, dtype=self._param_dtype, shape=self._param_shape)
            setattr(self, f"_{name}_const", value)
        return None

    def _add_average(self, name: str, initializer: Any) -> Any:
        return self.add_weight(
            name=name, shape=self._param_shape, dtype=self._param_dtype, initializer=initializer,
            synchronization=VariableSynchronization.ON_READ, trainable=False,
            aggregation=VariableAggregation.MEAN, experimental_autocast=False,
        )  # fmt: skip

    def _add_averages(self) -> None:
        self.moving_mean = self._add_average("moving_mean", self.moving_mean_initializer)
        self.moving_variance = self._add_average(
            "moving_variance", self.moving_variance_initializer
        )
        if not self.renorm:
            return

        def stddev_initializer(*args: Any, **kwargs: Any) -> Any:
            return sqrt(self.moving_variance_initializer(*args, **kwargs))

        with colocate_with(self.moving_variance):
            self.moving_stddev = self._add_average("moving_stddev", stddev_initializer)
        with colocate_with(self.moving_mean):
            self.renorm_mean = self._add_average("renorm_mean", self.moving_mean_initializer)
        with colocate_with(self.moving_stddev):
            self.renorm_stddev = self._add_average("renorm_stddev", stddev_initializer)

    # ---- moving averages

    def _assign_moving_average(self, variable: Any, value: Any, momentum: Any, count: Any) -> Any:
        with name_scope("AssignMovingAvg") as scope, colocate_with(variable):
            replaced = convert_to_tensor(1.0 - momentum, name="decay")
            part = cast(replaced, variable.dtype.base_dtype)
            difference = variable - cast(value, variable.dtype)
            return assign_sub(variable, _unless_empty(count, difference * part), name=scope)

    def _assign_variance(self, stddev: Any) -> Tensor:
        """Set the moving variance from a moving standard deviation of variance + epsilon."""
        value = relu(stddev * stddev - self.epsilon)
        with name_scope("AssignNewValue") as scope, colocate_with(self.moving_variance):
            return assign(self.moving_variance, value, name=scope)

    def _assign_moving_variance(self, variance: Any, momentum: Any, count: Any) -> Any:
        if not self.renorm:
            return self._assign_moving_average(self.moving_variance, variance, momentum, count)
        stddev = sqrt(variance + self.epsilon)
        return self._assign_variance(
            self._assign_moving_average(self.moving_stddev, stddev, momentum, count)
        )

    # ---- calling

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        """Normalize; in training, add the updates of the moving averages as well."""
        if training is None:
            training = learning_phase()
        if self.virtual_batch_size is None:
            return (self._fused if self.fused else self._single_ops)(inputs, training)
        original = [-1, *inputs.shape.as_list()[1:]]
        inputs = reshape(inputs, [self.virtual_batch_size, -1, *original[1:]])
        return reshape(self._single_ops(inputs, training), original)

    def _fused(self, inputs: Any, training: Any) -> Tensor:
        gamma = self.gamma if self.scale else self._gamma_const  # type: ignore[attr-defined]
        beta = self.beta if self.center else self._beta_const  # type: ignore[attr-defined]
        data_format = "NCHW" if self.axis == [1] else "NHWC"
        elements = _elements(inputs)

        def by_batch() -> tuple[Tensor, Tensor, Tensor]:
            return fused_batch_norm(
                inputs, gamma, beta, epsilon=self.epsilon, data_format=data_format
            )

        def by_averages() -> tuple[Tensor, Tensor, Tensor]:
            return fused_batch_norm(
                inputs, gamma, beta, mean=self.moving_mean, variance=self.moving_variance,
                epsilon=self.epsilon, is_training=False, data_format=data_format,
            )  # fmt: skip

        output, mean, variance = utils.smart_cond(training, by_batch, by_averages)
        if not self._bessels_correction_test_only:
            count = cast(size(inputs) / size(variance), variance.dtype)
            variance *= (count - cast(1.0, variance.dtype)) / count
        known = utils.constant_value(training)
        if known is None:
            momentum = utils.smart_cond(training, lambda: self.momentum, lambda: 1.0)
        else:
            momentum = convert_to_tensor(self.momentum)
        if known or known is None:
            self.add_update(
                lambda: self._assign_moving_average(self.moving_mean, mean, momentum, elements)
            )
            self.add_update(lambda: self._assign_moving_variance(variance, momentum, elements))
        return output

    # Tests compare with single ops, which do not correct the variance.
    _bessels_correction_test_only = True

    def _single_ops(self, inputs: Any, training: Any) -> Tensor:
        scale, offset = self._broadcast(self.gamma, inputs), self._broadcast(self.beta, inputs)
        if utils.constant_value(training) is False:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            if self.adjustment:
                adjusting = self._adjusting(inputs, training)
                scale, offset = _composed(*adjusting, scale, offset)
            mean, variance = self._mean_and_variance(inputs, training)
            new_mean, new_variance = mean, variance
            if self.virtual_batch_size is not None:
                new_mean = reduce_mean(mean, axis=1, keepdims=True)
                new_variance = reduce_mean(variance, axis=1, keepdims=True)
            elements = _elements(inputs)
            if self.renorm:
                r, d, new_mean, new_variance = self._renorm(
                    new_mean, new_variance, training, elements
                )
                r = self._broadcast(stop_gradient(r, name="renorm_r"), inputs)
                d = self._broadcast(stop_gradient(d, name="renorm_d"), inputs)
                scale, offset = _composed(r, d, scale, offset)
            self._add_average_updates(new_mean, new_variance, training, elements)
        mean, variance = cast(mean, inputs.dtype), cast(variance, inputs.dtype)
        offset = None if offset is None else cast(offset, inputs.dtype)
        scale = None if scale is None else cast(scale, inputs.dtype)
        outputs = batch_normalization(
            inputs, self._broadcast(mean, inputs), self._broadcast(variance, inputs), offset, scale,
            self.epsilon,
        )  # fmt: skip
        outputs.set_shape(inputs.shape)
        return outputs

    def _reduction_axes(self, inputs: Any) -> list[int]:
        axes = [axis for axis in range(len(inputs.shape)) if axis not in self.axis]
        if self.virtual_batch_size is not None:
            del axes[1]  # the parts of the batch stay apart
        return axes

    def _broadcast(self, vector: Any, inputs: Any) -> Any:
        """Reshape a vector along the axis to the inputs' rank, unless the axis is the last."""
        rank = len(inputs.shape)
        if vector is None or len(vector.shape) == rank:
            return vector
        if self._reduction_axes(inputs) == list(range(rank - 1)):
            return vector
        sizes = [1] * rank
        sizes[self.axis[0]] = inputs.shape.dims[self.axis[0]].value
        return reshape(vector, sizes)

    def _adjusting(self, inputs: Any, training: Any) -> tuple[Any, Any]:
        scale, bias = self.adjustment(shape(inputs))
        return (
            utils.smart_cond(training, lambda: scale, lambda: ones_like(scale)),
            utils.smart_cond(training, lambda: bias, lambda: zeros_like(bias)),
        )

    def _mean_and_variance(self, inputs: Any, training: Any) -> tuple[Any, Any]:
        """Return the mean and variance to normalize by."""
        keep_dims = self.virtual_batch_size is not None or len(self.axis) > 1
        mean, variance = self._moments(
            cast(inputs, self._param_dtype), self._reduction_axes(inputs), keep_dims=keep_dims
        )
        return (
            utils.smart_cond(training, lambda: mean, lambda: convert_to_tensor(self.moving_mean)),
            utils.smart_cond(
                training, lambda: variance, lambda: convert_to_tensor(self.moving_variance)
            ),
        )

    def _moments(self, inputs: Any, reduction_axes: list[int], keep_dims: bool) -> tuple[Any, Any]:
        """Return the moments of a batch; layers that normalize over several devices override it."""
        mean, variance = moments(inputs, reduction_axes, keep_dims=keep_dims)
        count = _elements(inputs)
        return _unless_empty(count, mean), _unless_empty(count, variance)

    def _add_average_updates(self, mean: Any, variance: Any, training: Any, count: Any) -> None:
        def update_mean() -> Any:
            return self._assign_moving_average(self.moving_mean, mean, self.momentum, count)

        def update_variance() -> Any:
            return self._assign_moving_variance(variance, self.momentum, count)

        self.add_update(lambda: utils.smart_cond(training, update_mean, lambda: self.moving_mean))
        self.add_update(
            lambda: utils.smart_cond(training, update_variance, lambda: self.moving_variance)
        )

    def _renorm(
        self, mean: Any, variance: Any, training: Any, count: Any
    ) -> tuple[Any, Any, Any, Any]:
        """Renormalization's factor and summand; mean and variance once its averages moved."""
        stddev = sqrt(variance + self.epsilon)
        renorm_stddev = maximum(self.renorm_stddev, sqrt(self.epsilon))
        r = stddev / renorm_stddev
        d = (mean - self.renorm_mean) / renorm_stddev
        with control_dependencies([r, d]):  # the averages are read before they move
            mean, stddev = identity(mean), identity(stddev)
        rmin, rmax, dmax = (self.renorm_clipping.get(key) for key in ("rmin", "rmax", "dmax"))
        r = r if rmin is None else maximum(r, rmin)
        r = r if rmax is None else minimum(r, rmax)
        if dmax is not None:
            d = minimum(maximum(d, -dmax), dmax)
        in_training = r, d
        r = utils.smart_cond(training, lambda: in_training[0], lambda: ones_like(in_training[0]))
        d = utils.smart_cond(training, lambda: in_training[1], lambda: zeros_like(in_training[1]))
        updates = [
            self._update_renorm(self.renorm_mean, mean, training, count),
            self._update_renorm(self.renorm_stddev, stddev, training, count),
        ]
        with control_dependencies(updates):
            return r, d, identity(mean), identity(variance)

    def _update_renorm(self, variable: Any, value: Any, training: Any, count: Any) -> Tensor:
        value = identity(value)
        return utils.smart_cond(
            training,
            lambda: self._assign_moving_average(variable, value, self.renorm_momentum, count),
            lambda: identity(variable),
        )

    # ---- shape and configuration

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the input's shape."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments, without those of special forms that are not used."""
        config = {**super().get_config()}
        for name in ("axis", "momentum", "epsilon", "center", "scale"):
            config[name] = getattr(self, name)
        for name in ("beta", "gamma", "moving_mean", "moving_variance"):
            for kind in ("initializer", "regularizer", "constraint"):
                attribute = f"{name}_{kind}"
                if hasattr(self, attribute):
                    config[attribute] = serialized(f"{kind}s", getattr(self, attribute))
        if self.renorm:
            config["renorm"] = True
            config["renorm_clipping"] = self.renorm_clipping
            config["renorm_momentum"] = self.renorm_momentum
        if self.virtual_batch_size is not None:
            config["virtual_batch_size"] = self.virtual_batch_size
        if self.adjustment is not None:
            logging.warning(
                "The `adjustment` function of this `BatchNormalization` layer cannot be serialized "
                "and has been omitted from the layer config. It will not be included when "
                "re-creating the layer from the saved config."
            )
        return config


def _composed(scale: Any, offset: Any, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """Two transformations `x * scale + offset` after each other as one."""
    if then_scale is not None:
        scale *= then_scale
        offset *= then_scale
    if then_offset is not None:
        offset += then_offset
    return scale, offset
