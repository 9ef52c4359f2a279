import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import numpy as safetensors

from clsviz.errors import CorpusError
from clsviz.sources.arrays import Array, open_npy, open_npz, open_safetensors

VECTORS = np.random.default_rng(0).normal(size=(50, 7))


def whole(array: "Array", n: int = 16) -> NDArray[np.generic]:
    batches = list(array.batches(n))
    assert all(len(batch) <= n for batch in batches)
    return np.concatenate(batches)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", "<i4", "u1"])
def test_an_array_of_numpy_is_read_a_few_rows_at_a_time(dtype: str, tmp_path: Path) -> None:
    values = (10 * np.abs(VECTORS)).astype(dtype)
    np.save(tmp_path / "a.npy", values)
    (array,) = open_npy(tmp_path / "a.npy", "a.npy")
    assert (array.name, array.shape, array.problem) == ("array", (50, 7), "")
    np.testing.assert_array_equal(whole(array), values)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_several_arrays_are_read_from_an_archive(save: object, tmp_path: Path) -> None:
    texts = np.array([f"Text {row}, ärger" for row in range(50)])
    save(tmp_path / "a.npz", vectors=VECTORS, norms=np.arange(50), texts=texts)  # type: ignore[operator]
    arrays = {array.name: array for array in open_npz(tmp_path / "a.npz", "a.npz")}
    np.testing.assert_array_equal(whole(arrays["vectors"]), VECTORS)
    np.testing.assert_array_equal(whole(arrays["norms"]), np.arange(50))
    assert whole(arrays["texts"]).tolist() == texts.tolist()


def test_tensors_are_read_from_safetensors_and_bfloat16_as_float32(tmp_path: Path) -> None:
    values = VECTORS.astype("<f4")
    halved = (values.view("<u4") >> 16).astype("<u2")  # bfloat16 is the upper half
    header = {
        "half": {"dtype": "BF16", "shape": [50, 7], "data_offsets": [0, 700]},
        "full": {"dtype": "F32", "shape": [50, 7], "data_offsets": [700, 2100]},
        "__metadata__": {"format": "np"},
    }
    text = json.dumps(header).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + halved.tobytes() + values.tobytes())
    arrays = {array.name: array for array in open_safetensors(path, "a.safetensors")}
    np.testing.assert_array_equal(whole(arrays["full"]), values)
    np.testing.assert_array_equal(whole(arrays["half"]), (halved.astype("<u4") << 16).view("<f4"))


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("exploded"),))


def test_objects_are_never_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "a.npy", np.array([Bomb(), Bomb()], object), allow_pickle=True)
    (array,) = open_npy(tmp_path / "a.npy", "a.npy")
    assert "holds Python objects" in array.problem
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(CorpusError, match=r"b\.npy cannot be read"):
        open_npy(tmp_path / "b.npy", "b.npy")
    assert not (tmp_path / "exploded").exists()


def test_an_array_in_columns_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.asfortranarray(VECTORS))
    (array,) = open_npy(tmp_path / "a.npy", "a.npy")
    assert "ascontiguousarray" in array.problem


@pytest.mark.parametrize("ending", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize("left", [0, 5, 60, -1])
def test_a_file_that_was_cut_short_is_refused(ending: str, left: int, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    if ending == ".npy":
        np.save(path, VECTORS)
    elif ending == ".npz":
        np.savez(path, vectors=VECTORS)
    else:
        safetensors.save_file({"vectors": VECTORS}, path)
    path.write_bytes(path.read_bytes()[:left])
    opened = {".npy": open_npy, ".npz": open_npz, ".safetensors": open_safetensors}[ending]
    with pytest.raises(CorpusError, match=r"cut short|cannot be read"):
        opened(path, path.name)


def test_a_file_that_shrinks_while_it_is_read_ends_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, VECTORS)
    (array,) = open_npy(path, "a.npy")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(CorpusError, match="ends before its last row"):
        whole(array)


def test_an_archive_whose_bytes_were_changed_ends_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, vectors=VECTORS)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="cannot be read"):
        [whole(array) for array in open_npz(path, "a.npz")]
