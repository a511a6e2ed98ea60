"""Tests that run once for each combination of their arguments: `combine`, `times`, `generate`."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import re
import unittest
from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from stillflow.eager import v2_behavior
from stillflow.graph.eager_mode import eager_mode
from stillflow.graph.graph import Graph

Combination = OrderedDict[str, Any]


def combine(**kwargs: Any) -> list[Combination]:
    """Return all combinations of arguments; the last name's values change fastest.

    Each argument has a list of its values, or its only value.
    """
    names = sorted(kwargs)
    values = [kwargs[name] if isinstance(kwargs[name], list) else [kwargs[name]] for name in names]
    return [OrderedDict(zip(names, chosen, strict=True)) for chosen in itertools.product(*values)]


def times(*combined: Sequence[Combination]) -> list[Combination]:
    """Each combination of the first list together with each of the second, and so on."""
    assert combined
    products = []
    for chosen in itertools.product(*combined):
        product: Combination = OrderedDict()
        for part in reversed(chosen):
            if set(part) & set(product):
                raise ValueError(f"Keys need to not overlap: {part.keys()} vs {product.keys()}")
            product = OrderedDict([*part.items(), *product.items()])
        products.append(product)
    return products


class NamedObject:
    """An object, or a function that makes one, that the names of tests show by a name.

    Args:
      name: the name.
      obj: the object, whose attributes this one has.
    """

    def __init__(self, name: str, obj: Any) -> None:
        self._name, self._obj = name, obj

    def __getattr__(self, name: str) -> Any:
        return getattr(self._obj, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._obj(*args, **kwargs)

    def __repr__(self) -> str:
        return self._name


class ParameterModifier:
    """Modifier of a test's arguments.

    Args:
      parameter_name: which argument, if it is about a single one. Of modifiers that are equal
        in class and name, one is used.
    """

    DO_NOT_PASS_TO_THE_TEST = object()

    def __init__(self, parameter_name: str | None = None) -> None:
        self._parameter_name = parameter_name

    def modified_arguments(self, kwargs: Any, requested_parameters: Any) -> dict[str, Any]:
        """Return the arguments that are to be others.

        Args:
          kwargs: the arguments of the combination.
          requested_parameters: the names of those that the test takes.

        Returns:
          Their new values; `DO_NOT_PASS_TO_THE_TEST` takes one away.
        """
        del kwargs, requested_parameters
        return {}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self._parameter_name))


class OptionalParameter(ParameterModifier):
    """An argument that a test need not take."""

    def modified_arguments(self, kwargs: Any, requested_parameters: Any) -> dict[str, Any]:
        del kwargs
        if self._parameter_name in requested_parameters:
            return {}
        return {str(self._parameter_name): self.DO_NOT_PASS_TO_THE_TEST}


class TestCombination:
    """Actions around each test of a combination; here none."""

    __test__ = False  # no class of tests

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        """Return True if the test can run here, and why it cannot."""
        del kwargs
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """Return the modifiers of the arguments."""
        return []

    def context_managers(self, kwargs: dict[str, Any]) -> list[Any]:
        """Return the contexts that the test runs in."""
        del kwargs
        return []


class EagerGraphCombination(TestCombination):
    """`mode="eager"` runs a test where operations run at once, "graph" in a graph of its own."""

    def context_managers(self, kwargs: dict[str, Any]) -> list[Any]:
        mode = kwargs.pop("mode", "graph")
        if mode == "eager":
            return [eager_mode()]
        if mode == "graph":
            return [Graph().as_default()]
        raise ValueError(f"'mode' has to be either 'eager' or 'graph' and not {mode}")

    def parameter_modifiers(self) -> list[ParameterModifier]:
        return [OptionalParameter("mode")]


class TFVersionCombination(TestCombination):
    """`tf_api_version` says for which generation of TensorFlow's behaviour a test is."""

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        version = kwargs.pop("tf_api_version", None)
        if version == 1 and v2_behavior.is_enabled:
            return False, "Skipping a TF1.x test when TF2 is enabled."
        if version == 2 and not v2_behavior.is_enabled:
            return False, "Skipping a TF2 test when TF2 is not enabled."
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        return [OptionalParameter("tf_api_version")]


def generate(
    combinations: Sequence[Combination], test_combinations: Sequence[TestCombination] = ()
) -> Callable[[Any], Any]:
    """Decorate a test of an absl `TestCase`, or a class of them, to run for each combination.

    `test_combinations` is what is done around each. ValueError when a test runs, if it does not
    take the arguments that it is given.
    """
    from absl.testing import parameterized

    named = [OrderedDict([*each.items(), ("testcase_name", test_name(each))])
             for each in combinations]  # fmt: skip

    def of_method(test: Any) -> Any:
        return parameterized.named_parameters(*named)(_around(test, test_combinations))

    def decorate(test_or_class: Any) -> Any:
        if not isinstance(test_or_class, type):
            return of_method(test_or_class)
        tests = {
            name: test for name, test in vars(test_or_class).items()
            if name.startswith(unittest.TestLoader.testMethodPrefix)
            and isinstance(test, FunctionType)
        }  # fmt: skip
        for name, test in tests.items():
            delattr(test_or_class, name)
            for run in of_method(test):
                setattr(test_or_class, run.__name__, run)
        return test_or_class

    return decorate


def test_name(combination: Combination) -> str:
    """Return the suffix of a test's name: the arguments, in letters and digits only."""

    def plain(text: str) -> str:
        return "".join(filter(str.isalnum, text))

    def shown(value: Any, index: int) -> str:
        return re.sub("0[xX][0-9a-fA-F]+", str(index), str(value))  # no addresses

    return "_test" + "".join(
        f"_{plain(key)}_{plain(shown(value, index))}"
        for index, (key, value) in enumerate(combination.items())
    )


test_name.__test__ = False  # type: ignore[attr-defined]  # a helper


def _around(test: Any, rules: Sequence[TestCombination]) -> Any:
    """Return the test, with the actions around it."""

    @functools.wraps(test)
    def decorated(self: Any, **kwargs: Any) -> None:
        answers = [rule.should_execute_combination(dict(kwargs)) for rule in rules]
        reasons = [f" - {reason}" for runs, reason in answers if not runs]
        if reasons:
            self.skipTest("\n".join(reasons))
        with contextlib.ExitStack() as stack:
            for rule in rules:
                for manager in rule.context_managers(dict(kwargs)):
                    stack.enter_context(manager)
            test(self, **_arguments(test, rules, kwargs))

    return decorated


def _arguments(
    test: Any, rules: Sequence[TestCombination], given: dict[str, Any]
) -> dict[str, Any]:
    """Return a test's arguments from a combination's."""
    requested = inspect.getfullargspec(test).args
    arguments = dict(given)
    modifiers = dict.fromkeys(m for rule in rules for m in rule.parameter_modifiers())
    for modifier in modifiers:
        for name, value in modifier.modified_arguments(dict(given), requested).items():
            if value is ParameterModifier.DO_NOT_PASS_TO_THE_TEST:
                arguments.pop(name, None)
            else:
                arguments[name] = value
    known = {*arguments, "self"}
    if omitted := set(requested) - known:
        raise ValueError(
            f"The test requires parameters whose arguments were not passed: {omitted} ."
        )
    if missing := known - set(requested):
        raise ValueError(f"The test does not take parameters that were passed : {missing} .")
    return arguments


GRAPH_RULES = (EagerGraphCombination(), TFVersionCombination())
generate_in_modes = functools.partial(generate, test_combinations=GRAPH_RULES)
