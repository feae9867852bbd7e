"""Array files: whole or not at all, and named by what they hold."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from router.index.arrays import ArrayFileError, map_arrays, write_arrays
from router.index.segment import file_offset

ARRAYS = st.dictionaries(
    st.text("abc.", min_size=1, max_size=6),
    hnp.arrays(
        st.sampled_from([np.int8, np.uint8, np.int32, np.uint32, np.int64, np.float16, np.float32]),
        hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=5),
    ),
    max_size=4,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ARRAYS)
def test_what_is_written_is_read(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    path = write_arrays(tmp_path, "some", arrays, {"by": "a test"})
    assert write_arrays(tmp_path, "some", arrays, {"by": "a test"}) == path
    found, meta = map_arrays(path)
    assert meta == {"by": "a test"} and set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()
        if array.size:
            start = file_offset(found[name])
            assert path.read_bytes()[start : start + array.nbytes] == array.tobytes()


def test_the_library_of_the_format_reads_it(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    pieces = [np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)]
    path = write_arrays(tmp_path, "some", {"a": pieces, "b": np.arange(4, dtype=np.int8)})
    found = library.load_file(path)
    assert np.array_equal(found["a"], np.concatenate(pieces))
    assert np.array_equal(found["b"], np.arange(4))


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_damaged_file_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    path = write_arrays(tmp_path, "some", {"a": np.arange(40, dtype=np.int32)})
    whole = path.read_bytes()
    hurt = bytearray(whole)
    hurt[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(bytes(hurt)[:cut])
    try:
        with pytest.raises(ArrayFileError):
            map_arrays(path)
        # Without the digest a flipped number passes; nothing else may but a clean error.
        with contextlib.suppress(ArrayFileError):
            map_arrays(path, verify=False)
    finally:
        path.unlink()
