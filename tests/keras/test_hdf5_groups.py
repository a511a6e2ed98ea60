"""Texts in attributes of HDF5 files."""

from __future__ import annotations

import pytest

from stillflow.keras.saving import hdf5_groups as groups

h5py = pytest.importorskip("h5py")


def test_a_text_that_no_attribute_holds_is_refused(tmp_path):
    large = "x" * (groups.HDF5_OBJECT_HEADER_LIMIT + 1)
    with h5py.File(str(tmp_path / "x.h5"), "w") as file:
        for data in ([large], [large.encode()]):
            with pytest.raises(RuntimeError, match=r"are larger than 64512 bytes: .*x"):
                groups.save_attributes_to_hdf5_group(file, "names", data)
        assert list(file.attrs) == []


def test_texts_come_back_in_their_order(tmp_path):
    data = [f"{i:05}-müll" * 20 for i in range(1500)]
    with h5py.File(str(tmp_path / "x.h5"), "w") as file:
        groups.save_attributes_to_hdf5_group(file, "names", data)
        assert len(file.attrs) > 1
        assert groups.load_attributes_from_hdf5_group(file, "names") == data
