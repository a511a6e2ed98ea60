"""Options of a conversion: optional features, and recursion into calls."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from stillflow.graph.export import export


@export("autograph.experimental.Feature", "contrib.autograph.Feature")
class Feature(enum.Enum):
    """Parts of the conversion that are off unless asked for.

    Attributes:
      ALL: every one of the others.
      AUTO_CONTROL_DEPS: operations with effects of a function run in their order.
      ASSERT_STATEMENTS: `assert` of a tensor becomes `tf.Assert`.
      BUILTIN_FUNCTIONS: `print` of a tensor prints its value when the graph runs.
      EQUALITY_OPERATORS: `==` and `!=` of tensors compare their elements.
      LISTS: empty lists become lists of tensors; items of tensors can be set.
      NAME_SCOPES: every function has a name scope of its own.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Every feature."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Feature | Iterable[Feature]) -> tuple[Feature, ...]:
        """Every feature but one or several."""
        without = {exclude} if isinstance(exclude, Feature) else set(exclude)
        return tuple(feature for feature in cls if feature not in without | {cls.ALL})


@export("contrib.autograph.ConversionOptions")
class ConversionOptions:
    """Options of functions' conversion.

    Args:
      recursive: whether functions that a converted one calls are converted too.
      user_requested: whether the program itself named this function, so that it is converted
        wherever it comes from.
      internal_convert_user_code: whether functions are converted at all, and not only calls of
        Python's own functions such as `len`.
      optional_features: a `Feature` or several of them.
    """

    def __init__(
        self,
        recursive: bool = False,
        user_requested: bool = False,
        internal_convert_user_code: bool = True,
        optional_features: Feature | Iterable[Feature] | None = Feature.ALL,
    ) -> None:
        if isinstance(optional_features, Feature):
            optional_features = (optional_features,)
        self.recursive = recursive
        self.user_requested = user_requested
        self.internal_convert_user_code = internal_convert_user_code
        self.optional_features = frozenset(optional_features or ())

    def as_tuple(self) -> tuple[Any, ...]:
        """Everything that tells these options from others."""
        return (
            self.recursive, self.user_requested, self.internal_convert_user_code,
            self.optional_features,
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash(self.as_tuple())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConversionOptions) and self.as_tuple() == other.as_tuple()

    def uses(self, feature: Feature) -> bool:
        """Return True if a feature is asked for."""
        return not self.optional_features.isdisjoint((Feature.ALL, feature))

    def call_options(self) -> ConversionOptions:
        """Return the options for the callees of a function converted with these."""
        return ConversionOptions(self.recursive, False, self.recursive, self.optional_features)

    def as_source(self) -> str:
        """Return these options as an expression of converted code."""
        if self == STANDARD:
            return "ag__.STD"
        names = sorted(feature.name for feature in self.optional_features)
        features = "".join(f"ag__.Feature.{name}, " for name in names)
        return (
            f"ag__.ConversionOptions(recursive={self.recursive}, "
            f"user_requested={self.user_requested}, optional_features=({features}), "
            f"internal_convert_user_code={self.internal_convert_user_code})"
        )


STANDARD = ConversionOptions(recursive=True, optional_features=None)
