"""Versions of models: which are wanted, when they load, when they go."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

from stillflow import errors
from stillflow.serve import source
from stillflow.serve.inference import spec_of
from stillflow.serve.messages import ModelServerConfig
from stillflow.serve.metrics import Metrics
from stillflow.serve.models import AVAILABLE, END, LOADING, UNLOADING, Models
from stillflow.serve.settings import Settings


class Loaded:
    """Stands for a servable."""

    def __init__(self, name: str, version: int, path: str) -> None:
        self.name, self.version, self.path, self.closed = name, version, path, False

    def close(self) -> None:
        self.closed = True


class Loader:
    """Loads versions, unless the folder says that it is damaged or slow."""

    def __init__(self) -> None:
        self.attempts: list[int] = []
        self.slow = threading.Event()
        self.slow.set()

    def __call__(self, name: str, version: int, path: str) -> Any:
        self.attempts.append(version)
        assert self.slow.wait(30)
        if (Path(path) / "damaged").exists():
            raise errors.data_loss(f"{path} is damaged")
        return Loaded(name, version, path)


@pytest.fixture
def models() -> Iterator[Callable[..., Any]]:
    made = []

    def make(**settings: Any) -> tuple[Models, Loader]:
        loader = Loader()
        given = {"max_num_load_retries": 0, "load_retry_interval_micros": 1000, **settings}
        made.append(Models(Settings(**given), loader, Metrics()))
        return made[-1], loader

    yield make
    for each in made:
        each.stop()


def config(folder: Path, more: str = "", name: str = "m") -> Any:
    text = f'model_config_list {{ config {{ name: "{name}" base_path: "{folder.as_posix()}" '
    return text_format.Parse(
        text + f'model_platform: "tensorflow" {more} }} }}', ModelServerConfig()
    )


def make_versions(folder: Path, *numbers: Any) -> Path:
    for number in numbers:
        (folder / str(number)).mkdir(parents=True)
    return folder


def states(models: Models) -> dict[int, int]:
    return {each.number: each.state for each in models.versions(spec_of("m"))}


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


def latest(models: Models) -> int:
    with models.use(spec_of("m")) as servable:
        return servable.version


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("", [10]),
        ("latest {}", [10]),
        ("latest { num_versions: 2 }", [3, 10]),
        ("all {}", [1, 3, 10]),
        ("specific { versions: 1 versions: 3 versions: 7 }", [1, 3]),
    ],
)
def test_policies(tmp_path: Path, policy: str, wanted: list[int]) -> None:
    make_versions(tmp_path, "1", "00000003", "10", "tmp", "-4", "1e3", "٣", 1 << 64)
    more = f"model_version_policy {{ {policy} }}" if policy else ""
    found = source.wanted_versions(config(tmp_path, more).model_config_list.config[0])
    assert sorted(found) == wanted
    assert found.get(3, "00000003").endswith("00000003")


def test_the_newest_version_serves_and_the_old_one_goes_after_it(
    tmp_path: Path, models: Any
) -> None:
    served, loader = models()
    served.reload(config(make_versions(tmp_path, 1)))
    assert latest(served) == 1
    with served.use(spec_of("m")) as old:
        loader.slow.clear()
        make_versions(tmp_path, 2)
        served.poll()
        until(lambda: states(served)[2] == LOADING)
        assert latest(served) == 1  # while the new one loads
        loader.slow.set()
        until(lambda: states(served) == {1: UNLOADING, 2: AVAILABLE})
        assert latest(served) == 2 and not old.closed  # this request still uses it
    assert old.closed and states(served) == {1: END, 2: AVAILABLE}


def test_a_version_that_fails_leaves_the_good_one(tmp_path: Path, models: Any) -> None:
    served, loader = models(max_num_load_retries=2)
    served.reload(config(make_versions(tmp_path, 1)))
    (make_versions(tmp_path, 2) / "2" / "damaged").touch()
    served.poll()
    until(lambda: states(served) == {1: AVAILABLE, 2: END})
    served.poll()
    assert latest(served) == 1 and loader.attempts == [1, 2, 2, 2]
    assert "is damaged" in served.versions(spec_of("m", 2))[0].error.message
    # A version that was repaired is another one when it comes again.
    shutil.rmtree(tmp_path / "2")
    served.poll()
    make_versions(tmp_path, 2)
    served.poll()
    until(lambda: states(served) == {1: END, 2: AVAILABLE})


def test_a_retry_may_succeed(tmp_path: Path, models: Any) -> None:
    served, loader = models(max_num_load_retries=1000)
    served.reload(config(make_versions(tmp_path, 1)))
    damage = make_versions(tmp_path, 2) / "2" / "damaged"
    damage.touch()
    served.poll()
    until(lambda: loader.attempts.count(2) > 1)
    damage.unlink()
    until(lambda: states(served) == {1: END, 2: AVAILABLE})


def test_a_folder_that_disappears(tmp_path: Path, models: Any) -> None:
    served, _ = models()
    base = tmp_path / "base"
    served.reload(config(make_versions(base, 1, 2)))
    shutil.rmtree(base / "2")
    served.poll()  # the version before it comes back
    until(lambda: states(served) == {1: AVAILABLE, 2: END})
    shutil.rmtree(base)
    served.poll()  # a base that cannot be listed says nothing about the versions
    assert latest(served) == 1


def test_versions_and_labels_by_name(tmp_path: Path, models: Any) -> None:
    served, _ = models()
    policy = "model_version_policy { all {} }"
    labels = 'version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 2 }'
    served.reload(config(make_versions(tmp_path, 1, 2), policy))
    until(lambda: states(served) == {1: AVAILABLE, 2: AVAILABLE})
    served.reload(config(tmp_path, policy + labels))
    for spec, number in ((spec_of("m", 1), 1), (spec_of("m", label="canary"), 2)):
        with served.use(spec) as servable:
            assert servable.version == number
    with pytest.raises(errors.NotFoundError, match=r"request: Specific\(m, 3\)"):
        served.use(spec_of("m", 3)).__enter__()
    with pytest.raises(errors.InvalidArgumentError, match="Unrecognized servable version label: x"):
        served.use(spec_of("m", label="x")).__enter__()
    with pytest.raises(errors.NotFoundError, match=r"Servable not found for request: Latest\(n\)"):
        served.use(spec_of("n")).__enter__()
    with pytest.raises(errors.InvalidArgumentError, match="ModelSpec has no name specified"):
        served.use(spec_of("")).__enter__()
    with pytest.raises(errors.NotFoundError, match="Could not find version 3 of model m"):
        served.versions(spec_of("m", 3))
    with pytest.raises(errors.NotFoundError, match="Could not find any versions of model n"):
        served.versions(spec_of("n"))


def test_a_label_names_versions_that_serve(tmp_path: Path, models: Any) -> None:
    label = 'version_labels { key: "stable" value: 7 }'
    for allowed in (False, True):
        served, _ = models(allow_version_labels_for_unavailable_models=allowed)
        served.reload(config(make_versions(tmp_path / str(allowed), 1)))
        if allowed:
            served.reload(config(tmp_path / "True", label))
            with pytest.raises(errors.NotFoundError, match=r"Specific\(m, 7\)"):
                served.use(spec_of("m", label="stable")).__enter__()
        else:
            with pytest.raises(errors.FailedPreconditionError, match="assign label to version 7"):
                served.reload(config(tmp_path / "False", label))


def test_another_configuration_replaces_the_models(tmp_path: Path, models: Any) -> None:
    served, _ = models()
    served.reload(config(make_versions(tmp_path / "a", 1)))
    served.reload(config(make_versions(tmp_path / "b", 5), name="n"))
    assert states(served) == {1: END}
    with served.use(spec_of("n")) as servable:
        assert servable.version == 5
    with pytest.raises(errors.NotFoundError):
        served.use(spec_of("m")).__enter__()


def test_a_model_that_does_not_load_is_an_error(tmp_path: Path, models: Any) -> None:
    served, _ = models()
    (make_versions(tmp_path, 1) / "1" / "damaged").touch()
    message = r"1 servable\(s\) did not become available: \{m due to error: .* is damaged\}"
    with pytest.raises(errors.UnknownError, match=message):
        served.reload(config(tmp_path))
    assert not served.ready()
    with pytest.raises(errors.NotFoundError, match="No versions of servable n found under base"):
        served.reload(config(make_versions(tmp_path / "empty", "x"), name="n"))
    with pytest.raises(errors.InvalidArgumentError, match="Could not find base path"):
        served.reload(config(tmp_path / "none", name="n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Invalid ServerModelConfig"),
        ("custom_model_config {}", "Only ModelConfigList is currently supported"),
        ('model_config_list { config { name: "m" base_path: "mem://m" } }', "setting neither"),
        (
            (
                'model_config_list { config { name: "m" base_path: "a://m" model_type: TENSORFLOW '
                'model_platform: "tensorflow" } }'
            ),
            "setting both",
        ),
        (
            'model_config_list { config { name: "m" base_path: "mem://m" model_platform: "x" } }',
            "unsupported platform x",
        ),
        (
            'model_config_list { config { name: "m" base_path: "m" model_type: TENSORFLOW } }',
            "absolute path",
        ),
        (
            (
                'model_config_list { config { name: "m" base_path: "a://m" model_type: 1 } '
                'config { name: "m" base_path: "a://n" model_type: TENSORFLOW } }'
            ),
            "Illegal to list model m multiple times",
        ),
        ('model_config_list { config { base_path: "mem://m" } }', "has no name"),
    ],
)
def test_wrong_configurations(models: Any, text: str, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        models()[0].reload(text_format.Parse(text, ModelServerConfig()))
