"""The estimator of TensorFlow 2's names."""

from __future__ import annotations

from stillflow.estimator.estimator import Estimator, assert_not_overridden
from stillflow.graph.export import export
from stillflow.util.deprecation import hide_attribute_from_api


@export("compat.v2.estimator.Estimator")
class EstimatorV2(Estimator):
    __doc__ = Estimator.__doc__

    export_savedmodel = hide_attribute_from_api(
        "`Estimator.export_savedmodel` has been deprecated. Please use "
        "`export_saved_model` instead."
    )

    def _assert_members_are_not_overridden(self) -> None:
        assert_not_overridden(EstimatorV2, self)
