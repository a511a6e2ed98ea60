"""Device strings: reading, writing and merging them."""

import pytest

from stillflow.graph import device
from stillflow.graph.device import DeviceSpec, DeviceSpecV2, canonical_name, merge_over


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("", ""),
        (None, ""),
        ("gpu:0", "/device:GPU:0"),
        ("/gpu:*", "/device:GPU:*"),
        ("/cpu", "/device:CPU:*"),
        ("//cpu:0", "/device:CPU:0"),
        ("/device:gpu:1", "/device:GPU:1"),
        ("/device:XLA_CPU:0", "/device:XLA_CPU:0"),
        ("/job:w/replica:0/task:01", "/job:w/replica:0/task:1"),
        ("/task:1/job:w", "/job:w/task:1"),
        (DeviceSpec(job="ps", device_type="cpu", device_index="0"), "/job:ps/device:CPU:0"),
    ],
)
def test_full_forms(given, full):
    assert canonical_name(given) == full


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("/foo:0", "Unknown attribute: 'foo' in '/foo:0'"),
        ("/device:GPU", "Unknown attribute: 'device' in '/device:GPU'"),
        ("/job:a:b", "Unknown attribute: 'job' in '/job:a:b'"),
        ("/cpu:0/gpu:0", "Cannot specify multiple device types: /cpu:0/gpu:0"),
        ("/gpu:a", "invalid literal for int"),
        ("/task:x", "invalid literal for int"),
    ],
)
def test_what_is_no_device_string(given, message):
    with pytest.raises(ValueError, match=message):
        DeviceSpec.from_string(given)


def test_devices_are_named_by_strings():
    with pytest.raises(TypeError, match="A device is named by a string, got 5"):
        canonical_name(5)


@pytest.mark.parametrize(
    ("scope", "current", "merged"),
    [
        ("/job:ps", "/gpu:0", "/job:ps/device:GPU:0"),
        ("/job:ps", "/job:w", "/job:w"),
        ("/job:ps/cpu:0", "/device:GPU:*", "/job:ps/device:GPU:0"),
        ("", "gpu:0", "/device:GPU:0"),
        ("/gpu:1", "", "/device:GPU:1"),
    ],
)
def test_a_scope_fills_in_what_is_open(scope, current, merged):
    assert merge_over(scope, current) == merged
    inner = DeviceSpec.from_string(current)
    assert DeviceSpec.from_string(scope).make_merged_spec(inner).to_string() == merged


def test_stored_strings_stay_as_they_are_written():
    assert device.canonical("/gpu:0") == "/gpu:0"
    assert device.canonical(b"/gpu:0") == "/gpu:0"
    assert device.canonical(DeviceSpec(job="x")) == "/job:x"
    with pytest.raises(TypeError, match="Expected binary or unicode string, got None"):
        device.canonical(None)


def test_parts_can_be_assigned():
    spec = DeviceSpec(job="a", device_type="gpu", device_index=1)
    spec.task = "2"
    assert spec.to_string() == "/job:a/task:2/device:GPU:1"
    spec.merge_from(DeviceSpec(job="b"))
    assert (spec.job, spec.task) == ("b", 2)
    assert spec.replace(device_type=None, device_index=None).to_string() == "/job:b/task:2"
    assert spec.parse_from_string("/cpu:3") is spec
    assert spec == DeviceSpec.from_string("/cpu:3")
    assert hash(spec) == hash(DeviceSpec.from_string("/cpu:3"))


def test_newer_specs_do_not_change():
    spec = DeviceSpecV2(job="a")
    with pytest.raises(AttributeError):
        spec.job = "b"
    assert spec.parse_from_string("/cpu:0").to_string() == "/device:CPU:0"
    assert spec.to_string() == "/job:a"
    assert device.is_device_spec(spec) and not device.is_device_spec("/job:a")


def test_merging_as_a_device_function():
    class Node:
        device = "/gpu:0"

    merge = device.merge_device("/job:ps")
    assert merge is device.merge_device("/job:ps") is device.merge_device(merge)
    assert merge(Node).to_string() == merge.shortcut_string_merge(Node) == "/job:ps/device:GPU:0"
    assert device.merge_device("").is_null_merge and not merge.is_null_merge
    assert repr(merge).endswith("(spec: /job:ps)")
