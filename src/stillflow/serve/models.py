"""Models that are served: their versions, from wanted over loading to unloaded.

A new version loads before an old one goes. A version that fails to load leaves the good one
serving. A version that goes first answers the requests that it has.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any

from stillflow import errors
from stillflow.serve import source
from stillflow.serve.configs import check_configs, merged_labels
from stillflow.serve.log import logger
from stillflow.serve.messages import ModelVersionStatus
from stillflow.serve.metrics import Metrics
from stillflow.serve.servable import Servable
from stillflow.serve.settings import Settings

State = ModelVersionStatus.State
START, LOADING, AVAILABLE = State.START, State.LOADING, State.AVAILABLE
UNLOADING, END = State.UNLOADING, State.END
_LONGEST_WAIT = 0.5  # seconds between two looks at whether a wait has ended


class Version:
    """One version of a model.

    Attributes:
      name, number, path: which one it is, and where it is.
      state: of its life, a `ModelVersionStatus.State`.
      wanted: whether the policy asks for it.
      error: why it did not load, or None.
      servable: what is loaded, or None.
      in_use: requests that run on it.
    """

    def __init__(self, name: str, number: int, path: str) -> None:
        self.name, self.number, self.path = name, number, path
        self.state = START
        self.wanted = True
        self.error: errors.OpError | None = None
        self.servable: Servable | None = None
        self.in_use = 0


class Models:
    """All models of a server.

    Args:
      settings: of the server.
      load: loads a version; see `servable.load`.
      metrics: counts loads.
      unloaded: called with a servable that goes, before its session is closed.

    Attributes:
      changes: number of changes so far of the state that clients see.
      quiet: held while a version loads or folders are looked at, where processes are forked.
    """

    def __init__(
        self,
        settings: Settings,
        load: Callable[[str, int, str], Servable],
        metrics: Metrics,
        unloaded: Callable[[Servable], None] = lambda servable: None,
    ) -> None:
        self._settings, self._load, self._metrics = settings, load, metrics
        self._unloaded = unloaded
        self._configs: dict[str, Any] = {}
        self._labels: dict[str, dict[str, int]] = {}
        self._versions: dict[str, dict[int, Version]] = {}
        self._changed = threading.Condition()
        self._reloading = threading.Lock()
        self._stopped = threading.Event()
        self._polling = threading.Lock()
        self._told: dict[str, str] = {}
        self._loaders = ThreadPoolExecutor(max(1, settings.num_load_threads), "stillflow-load")
        self._thread: threading.Thread | None = None
        self.changes = 0
        self.quiet: Any = threading.RLock() if settings.workers > 1 else nullcontext()

    # ---- Requests ------------------------------------------------------------------------------

    @contextmanager
    def use(self, spec: Any) -> Iterator[Servable]:
        """Give the servable that a `ModelSpec` names; it stays loaded within the context.

        Raises:
          InvalidArgumentError: if the spec has no name, or a label that does not exist.
          NotFoundError: if no such version is available.
        """
        with self._changed:
            version = self._find(spec)
            version.in_use += 1
        assert version.servable is not None
        try:
            yield version.servable
        finally:
            with self._changed:
                version.in_use -= 1
                done = version.state == UNLOADING and not version.in_use
            if done:
                self._finish(version)

    def _find(self, spec: Any) -> Version:
        if not spec.name:
            raise errors.invalid_argument("ModelSpec has no name specified.")
        known = self._versions.get(spec.name, {})
        choice = spec.WhichOneof("version_choice")
        if choice is None:
            there = [number for number, each in known.items() if each.state == AVAILABLE]
            if not there:
                raise errors.not_found(f"Servable not found for request: Latest({spec.name})")
            return known[max(there)]
        number = spec.version.value
        if choice == "version_label":
            labels = self._labels.get(spec.name, {})
            if spec.version_label not in labels:
                raise errors.invalid_argument(
                    f"Unrecognized servable version label: {spec.version_label}"
                )
            number = labels[spec.version_label]
        if number not in known or known[number].state != AVAILABLE:
            raise errors.not_found(
                f"Servable not found for request: Specific({spec.name}, {number})"
            )
        return known[number]

    def versions(self, spec: Any) -> list[Version]:
        """Return the versions of a model that the spec names, the newest first.

        Raises:
          InvalidArgumentError: if there is no such label.
          NotFoundError: if there are none.
        """
        if not spec.name:
            raise errors.invalid_argument("Missing ModelSpec")
        with self._changed:
            known = dict(self._versions.get(spec.name, {}))
            labels = self._labels.get(spec.name, {})
        choice = spec.WhichOneof("version_choice")
        if choice is None:
            if not known:
                raise errors.not_found(f"Could not find any versions of model {spec.name}")
            return [known[number] for number in sorted(known, reverse=True)]
        number = spec.version.value
        if choice == "version_label":
            if spec.version_label not in labels:
                raise errors.invalid_argument(
                    f"Unrecognized servable version label: {spec.version_label}"
                )
            number = labels[spec.version_label]
        if number not in known:
            raise errors.not_found(f"Could not find version {number} of model {spec.name}")
        return [known[number]]

    def has(self, name: str) -> bool:
        """Return True if there is, or was, a model of this name."""
        return name in self._versions

    def ready(self) -> bool:
        """Return True if every model has a version that is available."""
        with self._changed:
            return bool(self._configs) and all(
                any(each.state == AVAILABLE for each in self._versions.get(name, {}).values())
                for name in self._configs
            )

    # ---- Configuration -------------------------------------------------------------------------

    def reload(self, config: Any, wait: bool = True) -> None:
        """Serve the models of a `ModelServerConfig`, and only these.

        Args:
          config: the message.
          wait: whether to raise where a new model has no version, instead of waiting for one.

        Raises:
          OpError: if the configuration is wrong, or a model does not load.
        """
        configs = check_configs(config)
        with self._reloading:
            if wait:
                for name in configs.keys() - self._configs.keys():
                    if not source.wanted_versions(configs[name]):
                        raise errors.not_found(
                            f"No versions of servable {name} found under base path "
                            f"{configs[name].base_path}"
                        )
            with self._changed:
                self._configs = configs
            self.poll()
            self._await(configs)
            available = {
                name: {n for n, each in self._versions.get(name, {}).items()
                       if each.state == AVAILABLE}
                for name in configs
            }  # fmt: skip
            labels = merged_labels(
                configs, self._labels, available,
                self._settings.allow_version_labels_for_unavailable_models,
            )  # fmt: skip
            with self._changed:
                self._labels = labels
                self.changes += 1

    def _await(self, configs: dict[str, Any]) -> None:
        """Wait until each model has an available version.

        Raises:
          UnknownError: if all versions of one have failed.
          CancelledError: if the server stops.
        """
        while True:
            states = {}
            with self._changed:
                for name in configs:
                    mine = [v for v in self._versions.get(name, {}).values() if v.wanted]
                    if any(each.state == AVAILABLE for each in mine):
                        continue
                    states[name] = mine
                failed = {
                    name: mine[-1].error
                    for name, mine in states.items()
                    if mine and all(each.state == END for each in mine)
                }
                if not states:
                    return
                if failed and len(failed) == len(states):
                    told = ", ".join(
                        f"{{{name} due to error: {error.message if error else 'unloaded'}}}"
                        for name, error in failed.items()
                    )
                    raise errors.unknown(
                        f"{len(failed)} servable(s) did not become available: {told}"
                    )
                if self._stopped.is_set():
                    raise errors.cancelled("The server stops")
                self._changed.wait(_LONGEST_WAIT)
            if any(not mine for mine in states.values()) and not self._thread:
                self.poll()

    # ---- Versions ------------------------------------------------------------------------------

    def start_polling(self) -> None:
        """Look for new versions from now on, in a thread of its own."""
        if self._settings.file_system_poll_wait_seconds > 0:
            self._thread = threading.Thread(target=self._poll_forever, name="stillflow-poll")
            self._thread.daemon = True
            self._thread.start()

    def _poll_forever(self) -> None:
        while not self._stopped.wait(self._settings.file_system_poll_wait_seconds):
            try:
                self.poll()
            except Exception:  # the next look may go better; without this one there is none
                logger.exception("poll failed")

    def poll(self) -> None:
        """Look at the folders once; load what is new, unload what is no longer wanted."""
        # A look that began earlier would undo what a later one wants.
        with self._polling, self.quiet:
            self._look()

    def _look(self) -> None:
        with self._changed:
            configs = dict(self._configs)
        for name, config in configs.items():
            try:
                wanted = source.wanted_versions(config)
            except errors.OpError as error:  # a store that does not answer empties no model
                self._tell_once(name, error.message)
                continue
            if not wanted:
                self._tell_once(
                    name,
                    f"No versions of servable {name} found under base path {config.base_path}",
                )
            else:
                self._told.pop(name, None)
            self._aspire(name, wanted)
        for name in self._versions.keys() - configs.keys():
            self._aspire(name, {})

    def _tell_once(self, name: str, message: str) -> None:
        if self._told.get(name) != message:
            self._told[name] = message
            logger.warning("%s", message)

    def _aspire(self, name: str, wanted: dict[int, str]) -> None:
        fresh = []
        with self._changed:
            known = self._versions.setdefault(name, {})
            for number, path in wanted.items():
                old = known.get(number)
                if old is None or (old.state == END and not old.wanted):
                    known[number] = Version(name, number, path)
                    fresh.append(known[number])
                elif old.state in (START, LOADING, AVAILABLE, END):
                    old.wanted = True
            for number, version in known.items():
                if number not in wanted:
                    version.wanted = False
        for version in fresh:
            logger.info("loading", extra={"model": name, "version": version.number})
            self._loaders.submit(self._bring_up, version)
        self._retire(name)

    def _bring_up(self, version: Version) -> None:
        """Load a version, again after a while where that fails."""
        settings = self._settings
        with self._changed:
            version.state = LOADING
        for attempt in range(settings.max_num_load_retries + 1):
            if attempt and self._wait_to_retry(version):
                break
            if not version.wanted or self._stopped.is_set():
                break
            started = time.monotonic()
            tags = {"model": version.name, "version": version.number}
            try:
                with self.quiet:
                    version.servable = self._load(version.name, version.number, version.path)
            except errors.OpError as error:
                version.error = error
            except Exception as error:  # a fault of ours must not end the loading of others
                logger.exception("load failed", extra=tags)
                version.error = errors.internal(f"{type(error).__name__}: {error}")
            else:
                version.error = None
                logger.info("loaded", extra={**tags, "seconds": time.monotonic() - started})
                break
            logger.error("load failed: %s", version.error.message, extra=tags)
        loaded = version.servable is not None
        self._metrics.loads.add(version.name, str(version.number), "OK" if loaded else "FAILED")
        with self._changed:
            version.state = AVAILABLE if loaded else END
            self.changes += 1
            self._changed.notify_all()
        self._retire(version.name)

    def _wait_to_retry(self, version: Version) -> bool:
        """Wait between two attempts; return True if there is to be no other one."""
        until = time.monotonic() + max(0, self._settings.load_retry_interval_micros) / 1e6
        while version.wanted and time.monotonic() < until:
            if self._stopped.wait(min(_LONGEST_WAIT, max(0.0, until - time.monotonic()))):
                return True
        return not version.wanted

    def _retire(self, name: str) -> None:
        """Unload versions that are not wanted, as soon as a wanted one serves."""
        going = []
        with self._changed:
            known = self._versions.get(name, {})
            wanted = [each for each in known.values() if each.wanted]
            if wanted and not any(each.state == AVAILABLE for each in wanted):
                return
            for version in known.values():
                if not version.wanted and version.state == AVAILABLE:
                    version.state = UNLOADING
                    if not version.in_use:
                        going.append(version)
        for version in going:
            self._finish(version)

    def _finish(self, version: Version) -> None:
        with self._changed:
            servable, version.servable = version.servable, None
        if servable is not None:
            self._unloaded(servable)
            servable.close()
            logger.info("unloaded", extra={"model": version.name, "version": version.number})
        with self._changed:
            version.state = END
            self.changes += 1
            self._changed.notify_all()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Keep everything as it is within the context, for a fork."""
        with self.quiet, self._changed:
            yield

    def forked(self) -> None:
        """Forget the threads of the process before a fork."""
        self._thread, self._stopped = None, threading.Event()
        self._loaders = ThreadPoolExecutor(1)

    def interrupt(self) -> None:
        """Let waits for versions end, with CancelledError."""
        self._stopped.set()

    def stop(self) -> None:
        """Stop polling and loading, and unload everything."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        self._loaders.shutdown(wait=True, cancel_futures=True)
        with self._changed:
            self._configs = {}
        for name in list(self._versions):
            self._aspire(name, {})
