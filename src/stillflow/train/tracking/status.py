"""Results of `tf.train.Checkpoint.restore`: checks of completeness, and the reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stillflow.graph.default_session import get_default_session
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.train.slot_creator import name_of
from stillflow.train.tracking.data_structures import TrackableDataStructure
from stillflow.train.tracking.object_graph import ObjectGraph
from stillflow.train.tracking.restoration import (
    Restoration,
    next_number,
    node_names,
    restored_since,
)


def session_or_default(session: Any) -> Any:
    """Return the session, or the default one, or Keras' own.

    None where operations run when called.
    """
    if executing_eagerly():
        return None
    session = session or get_default_session()
    if session is None:
        from stillflow.keras.backend.session import get_session

        session = get_session()
    return session


def _initializers(things: Iterable[Any], number: int) -> list[Any]:
    """Return the initializers of variables that no restoration has set since."""
    fresh = [thing for thing in things if not restored_since(thing, number)]
    return [thing.initializer for thing in fresh if getattr(thing, "initializer", None) is not None]


class LoadStatus:
    """Match of a checkpoint with the objects of a program.

    Args:
      root: The object that was restored.
    """

    def __init__(self, root: Any) -> None:
        self._root = root

    def expect_partial(self) -> LoadStatus:
        """Says that a part of the checkpoint may stay unused."""
        return self


class CheckpointLoadStatus(LoadStatus):
    """Status of a checkpoint of objects."""

    def __init__(self, root: Any, restoration: Restoration, feeds: dict[Any, Any]) -> None:
        super().__init__(root)
        self._restoration = restoration
        self._feeds = feeds

    def expect_partial(self) -> CheckpointLoadStatus:
        """Says that a part of the checkpoint may stay unused: nothing is logged about it."""
        self._restoration.expect_partial()
        return self

    def _objects(self) -> list[Any]:
        return ObjectGraph(self._root).objects

    def _unmatched(self) -> list[Any]:
        self._restoration.bind_slots()
        matched = {id(thing) for thing in self._restoration.objects.values()}
        return [
            thing
            for thing in self._objects()
            if id(thing) not in matched and not isinstance(thing, TrackableDataStructure)
        ]

    def assert_consumed(self) -> CheckpointLoadStatus:
        """AssertionError unless everything in the checkpoint, and every object, was found."""
        self.assert_existing_objects_matched()
        graph = self._restoration.graph
        for node, entry in enumerate(graph.nodes):
            if node not in self._restoration.objects:
                raise AssertionError(
                    f"Unresolved object in checkpoint {node_names(graph)[node]}: {entry}"
                )
        if self._restoration.unused:
            names = node_names(graph)
            lines = [
                f"{names[node]} ({self._restoration.objects[node]}): {attribute}"
                for node, attributes in self._restoration.unused.items()
                for attribute in attributes
            ]
            raise AssertionError(
                "Unused attributes in these objects (the attributes exist in the checkpoint but "
                "were not restored):\n" + "\n".join(lines)
            )
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """AssertionError unless every object was found in the checkpoint."""
        unmatched = self._unmatched()
        if unmatched:
            raise AssertionError(
                "Some Python objects were not bound to checkpointed values, likely due to changes "
                f"in the Python program: {unmatched}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """AssertionError if nothing but the root was found."""
        if len(self._restoration.objects) <= 1:
            unmatched = self._unmatched()
            if unmatched:
                raise AssertionError(
                    "Nothing except the root object matched a checkpointed value. Typically this "
                    "means that the checkpoint does not match the Python program. The following "
                    f"objects have no matching checkpointed value: {unmatched}"
                )
            raise AssertionError(
                f"Nothing to load. No dependencies have been added to {self._root} yet."
            )
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Read the values of all objects that were found."""
        self._restoration.bind_slots()
        session = session_or_default(session)
        if session is not None:
            session.run(self._restoration.restore_ops, feed_dict=self._feeds)

    def streaming_restore(self, session: Any) -> None:
        """Read the values of all objects that were found, and of later ones when they come."""
        if session is None:
            return
        if self._restoration.restore_ops:
            self.run_restore_ops(session)
        self._restoration.on_new_ops = lambda ops: session.run(ops, feed_dict=self._feeds)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Read the values, and initialize the variables that are missing in the checkpoint."""
        session = session_or_default(session)
        self.run_restore_ops(session=session)
        if session is not None:
            session.run(_initializers(self._unmatched(), self._restoration.number))


class InitializationOnlyStatus(LoadStatus):
    """Status without a checkpoint."""

    def __init__(self, root: Any) -> None:
        super().__init__(root)
        self._number = next_number()

    def _refuse(self) -> Any:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    def assert_consumed(self) -> Any:
        """AssertionError: there is nothing."""
        self._refuse()

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: Any = None) -> None:
        """AssertionError: there is nothing."""
        self._refuse()

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initialize all variables."""
        session = session_or_default(session)
        if session is None:
            return
        session.run(_initializers(ObjectGraph(self._root).objects, self._number))


class NameBasedSaverStatus(LoadStatus):
    """Status of a `Saver`'s checkpoint: variables are found by their names."""

    def __init__(self, root: Any, path: str, names: set[str]) -> None:
        super().__init__(root)
        self._path = path
        self._names = names
        self._optional: list[Any] = []

    def add_to_optionally_restored(self, variable: Any) -> None:
        """Allow a variable to be missing in the checkpoint."""
        self._optional.append(variable)

    def _variables(self) -> list[Any]:
        things = ObjectGraph(self._root).objects
        return [thing for thing in things if hasattr(thing, "initializer")]

    def _found(self) -> list[Any]:
        return [variable for variable in self._variables() if name_of(variable) in self._names]

    def assert_existing_objects_matched(self) -> NameBasedSaverStatus:
        """AssertionError unless every variable is in the checkpoint."""
        known = {id(variable) for variable in [*self._found(), *self._optional]}
        for variable in self._variables():
            if id(variable) not in known:
                raise AssertionError(f"Object not restored: {variable}")
        return self

    def assert_consumed(self) -> NameBasedSaverStatus:
        """AssertionError unless every variable is in the checkpoint and nothing else."""
        self.assert_existing_objects_matched()
        unused = self._names - {name_of(variable) for variable in self._variables()}
        if unused:
            raise AssertionError(
                "Some values in the checkpoint were not loaded into the model. Values with these "
                f"names: {sorted(unused)}"
            )
        return self

    def streaming_restore(self, session: Any) -> None:
        """Refused: names of variables that do not exist yet are not known.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "Streaming restore not supported from name-based checkpoints when graph building. File "
            "a feature request if this limitation bothers you. As a workaround, consider either "
            "using tf.train.Checkpoint to load name-based checkpoints or enabling eager execution."
        )

    def assert_nontrivial_match(self) -> NameBasedSaverStatus:
        """AssertionError unless every variable is in the checkpoint."""
        return self.assert_existing_objects_matched()

    def run_restore_ops(self, session: Any = None) -> None:
        """Read the values of all variables that the checkpoint has."""
        from stillflow.train.saver import Saver

        found = self._found()
        if found:
            Saver(found).restore(session_or_default(session), self._path)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Read them, and initialize the others."""
        session = session_or_default(session)
        known = {id(variable) for variable in self._found()}
        session.run([v.initializer for v in self._variables() if id(v) not in known])
        self.run_restore_ops(session=session)
