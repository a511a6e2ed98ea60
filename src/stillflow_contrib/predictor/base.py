"""Base of predictors: a session with its feeds and fetches."""

from __future__ import annotations

from typing import Any

from stillflow.graph.graph import Graph


class Predictor:
    """A trained model that is called with arrays by name, and gives arrays by name.

    Subclasses set up `_graph`, `_session`, `_feed_tensors` and `_fetch_tensors`.
    """

    _graph: Graph
    _session: Any
    _feed_tensors: dict[str, Any]
    _fetch_tensors: dict[str, Any]

    @property
    def graph(self) -> Graph:
        """The graph of the model."""
        return self._graph

    @property
    def session(self) -> Any:
        """The session that holds the trained values."""
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """{name: tensor that is fed}."""
        return self._feed_tensors

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """{name: tensor that is fetched}."""
        return self._fetch_tensors

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} with feed tensors {self._feed_tensors} and fetch_tensors "
            f"{self._fetch_tensors}"
        )

    def __call__(self, input_dict: dict[str, Any]) -> dict[str, Any]:
        """Predictions for some inputs.

        Args:
          input_dict: {name: array}; names are those of `feed_tensors`. Missing inputs and None are
            not fed.

        Returns:
          {name: array}, with the names of `fetch_tensors`.

        Raises:
          ValueError: if there are other names in `input_dict`.
        """
        expected = set(self.feed_tensors)
        unexpected = set(input_dict) - expected
        if unexpected:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unexpected}\nexpected: {expected}"
            )
        given = {name: input_dict.get(name) for name in self.feed_tensors}
        feeds = {
            self.feed_tensors[name]: value for name, value in given.items() if value is not None
        }
        predictions: dict[str, Any] = self._session.run(self.fetch_tensors, feed_dict=feeds)
        return predictions

    def _use_signature(self, inputs: dict[str, str], outputs: dict[str, str]) -> None:
        """Set feeds and fetches from {name: name of a tensor}."""
        tensor = self._graph.get_tensor_by_name
        self._feed_tensors = {name: tensor(found) for name, found in inputs.items()}
        self._fetch_tensors = {name: tensor(found) for name, found in outputs.items()}


def tensor_names(infos: Any) -> dict[str, str]:
    """{name: name of its tensor} of the inputs or the outputs of a `SignatureDef`."""
    return {name: info.name for name, info in infos.items()}
