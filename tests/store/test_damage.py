"""Damage of every kind: a part comes back as it was measured, or not at all, and is then measured again."""

import contextlib
import hashlib
import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import numpy as safetensors
from safetensors import safe_open
from support.tiny import random_sentences

from clsviz.encoder import Encoder
from clsviz.errors import StoreError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction
from clsviz.measurements import Kind, Measurements
from clsviz.progress import Progress
from clsviz.store import Key, Store
from clsviz.store.parts import Part

SENTENCES = [*random_sentences(20, seed=6), "the " * 100, "cat " * 90]
KEYS = {kind: Key("m" * 64, "c" * 64, 0, 512, "float32", kind) for kind in Kind}


@pytest.fixture(scope="module")
def measured(tiny_encoder: Encoder) -> dict[Kind, Measurements]:
    return {
        Kind.NORMS: tiny_encoder.measure(SENTENCES),
        Kind.VECTORS: tiny_encoder.vectors(SENTENCES),
        Kind.MEANS: tiny_encoder.means(SENTENCES),
    }


def arrays_of(measurements: Measurements) -> dict[str, np.ndarray]:
    return {name: np.asarray(array[:]) for name, array in measurements.to_arrays().items()}


def renamed(path: Path, start: int, stop: int) -> Path:
    """The file under the name that its content has as the part from `start` to `stop`."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return path.rename(path.with_name(f"{start:09d}-{stop:09d}-{digest}.safetensors"))


Content = dict[str, np.ndarray]


def another_number(content: Content, choose: random.Random) -> None:
    """One that no encoder gives, in the place of one that it gave."""
    name = choose.choice([name for name, array in content.items() if array.size and array.dtype != bool])
    array = content[name] = content[name].copy()
    signed = {"layer_norms", "centres", "deviations"}
    if array.dtype == np.int32:
        wrong: list[float] = [-1, -(2**31)]
    else:
        wrong = [np.inf, -np.inf, *([] if name == "layer_norms" and array.shape[-1] == 1 else [np.nan])]
        wrong += [] if name in signed else [-0.5, -1e30]
    array.reshape(-1)[choose.randrange(array.size)] = choose.choice(wrong)


def all_cut_or_none(content: Content, choose: random.Random) -> None:
    content["truncated"] = ~content["truncated"] if choose.random() < 0.5 else np.roll(content["truncated"], 3)


def another_type(content: Content, choose: random.Random) -> None:
    name = choose.choice(sorted(content))
    kinds = [
        kind for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u4", "?") if np.dtype(kind) != content[name].dtype
    ]
    with np.errstate(all="ignore"):
        content[name] = content[name].astype(choose.choice(kinds))


def another_shape(content: Content, choose: random.Random) -> None:
    name = choose.choice([name for name, array in content.items() if array.size])
    array = content[name]
    content[name] = choose.choice(
        [array[:-1], array[:0], array[..., :-1], np.concatenate([array, array]), array[None], array.reshape(-1)[:1],
         np.concatenate([array, array[..., -1:]], axis=-1), array.reshape(-1, 1, 1), array.reshape(-1)[0]]
    )  # fmt: skip


def another_array(content: Content, choose: random.Random) -> None:
    name = choose.choice(sorted(content))
    array = content.pop(name)
    if choose.random() < 0.5:
        content[choose.choice(["", name.upper(), "seconds"])] = array
    if choose.random() < 0.3:
        content[name] = content["more"] = array


CONTENTS = [another_number, another_number, all_cut_or_none, another_type, another_shape, another_array]


def other_content(part: Part, choose: random.Random) -> Path:
    """The file with other content, and a name that fits it."""
    with safe_open(part.path, framework="numpy") as file:
        content, about = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    choose.choice(CONTENTS)(content, choose)
    saved = {name: np.ascontiguousarray(array) for name, array in content.items()}
    part.path.write_bytes(safetensors.save(saved, metadata=about))
    return renamed(part.path, part.start, part.stop)


def other_about(part: Part, choose: random.Random) -> Path:
    """The file with something else said of it."""
    with safe_open(part.path, framework="numpy") as file:
        content, about = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    said = json.loads(about["clsviz"])
    name = choose.choice(["start", "key", "shape"])
    changed = {
        "start": [1, -1, None, "0"],
        "key": [None, {}, {**said["key"], "model": "x"}, {**said["key"], "seed": 1}, {**said["key"], "schema": 1}],
        "shape": [
            None,
            3,
            {},
            *({**said["shape"], field: other} for field in said["shape"] for other in (-1, 99, "x", [])),
        ],
    }
    other = {"clsviz": json.dumps({**said, name: choose.choice(changed[name])}, sort_keys=True)}
    odd = [None, {"clsviz": "{"}, {"clsviz": "[" * 9999}, {"seconds": "1"}, {**about, "seconds": "1"}]
    wrong = choose.choice([other, other, *odd])
    part.path.write_bytes(safetensors.save(content, metadata=wrong))
    return renamed(part.path, part.start, part.stop)


def other_bytes(part: Part, choose: random.Random) -> Path:
    """The file cut short, longer, or with a few other bytes; its name may fit them."""
    content = bytearray(part.path.read_bytes())
    how = choose.randrange(4)
    if how == 0:
        del content[choose.randrange(len(content)) :]
    elif how == 1:
        content += bytes(choose.randrange(1, 100))
    elif how == 2:
        content[choose.randrange(8)] ^= 1 << choose.randrange(8)  # how long the header is
    else:
        content = bytearray(choose.randbytes(choose.randrange(200)))
    part.path.write_bytes(content)
    return renamed(part.path, part.start, part.stop) if choose.random() < 0.7 else part.path


def flipped(part: Part, choose: random.Random) -> Path:
    """The file with another bit, under its old name."""
    content = bytearray(part.path.read_bytes())
    content[choose.randrange(len(content))] ^= 1 << choose.randrange(8)
    part.path.write_bytes(content)
    return part.path


def other_place(part: Part, choose: random.Random) -> Path:
    """The file as another part, or as that of another number of sentences."""
    start = choose.choice([part.start, 5, 64])
    return renamed(
        part.path, start, start + choose.choice([1, len(SENTENCES), 1000] if start != part.start else [1, 1000])
    )


def no_file(part: Part, choose: random.Random) -> Path:
    """What is no file, and may be read forever."""
    part.path.unlink()
    choose.choice(
        [
            lambda: os.mkfifo(part.path),
            lambda: part.path.symlink_to("/dev/zero"),
            lambda: part.path.symlink_to("/dev/full"),
            lambda: part.path.symlink_to(part.path),
            lambda: part.path.symlink_to("nothing"),
            lambda: part.path.symlink_to("/dev/ptmx"),
            lambda: part.path.mkdir(),
        ]
    )()
    return part.path


DAMAGES: list[Callable[[Part, random.Random], Path]] = [
    *[other_content] * 5, *[other_about] * 2, *[other_bytes] * 2, flipped, other_place, no_file,
]  # fmt: skip


def test_of_200_damages_none_is_taken_for_measured(measured: dict[Kind, Measurements], tmp_path: Path) -> None:
    for number in range(200):
        choose = random.Random(number)
        kind = choose.choice(list(Kind))
        store = Store(tmp_path / str(number))
        part = store.append(KEYS[kind], 0, measured[kind], seconds=1)
        how = choose.choice(DAMAGES)
        path = how(part, choose)
        for found in store.parts(KEYS[kind]).values():
            assert store.read(found) is None, (number, how, arrays_of(store.read(found)))
        start, stop, _ = path.name.split("-")
        with contextlib.suppress(StoreError):  # a link to itself is one sentence
            assert store.read(Part(int(start), int(stop), path, KEYS[kind])) is None
        assert not store.parts(KEYS[kind])


def test_a_part_of_another_key_is_not_believed(measured: dict[Kind, Measurements], store: Store) -> None:
    """Two parts that were swapped, each whole."""
    for kind, key in KEYS.items():
        other = replace(key, model="another")
        one, two = (store.append(which, 0, measured[kind], seconds=1) for which in (key, other))
        one.path.replace(two.path.with_name(one.path.name))
        two.path.replace(one.path.with_name(two.path.name))
        assert [store.read(part) for part in (*store.parts(key).values(), *store.parts(other).values())] == [None, None]


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return Encoders()


@pytest.mark.parametrize("how", [other_content, other_about, other_bytes, flipped, other_place, no_file])
def test_what_is_damaged_is_measured_again(
    tiny_folder: Path, text_file: Path, store: Store, encoders: Encoders, how: Callable[[Part, random.Random], Path]
) -> None:
    experiment = Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=100)
    extraction = Extraction(experiment, store, encoders)
    whole = extraction.run(Progress())
    parts = store.parts(extraction.key_of(whole))
    names = {part.path.name for part in parts.values()}
    for number in range(3):
        path = how(store.parts(extraction.key_of(whole))[32], random.Random(number))
        if path.is_dir() and not path.is_symlink():
            with pytest.raises(StoreError, match="Is a directory"):
                Extraction(experiment, store, encoders).run(Progress())
            path.rmdir()
        mended = Extraction(experiment, store, encoders).run(Progress())
        for name, array in arrays_of(whole.measurements).items():
            np.testing.assert_array_equal(arrays_of(mended.measurements)[name], array)
        assert names <= {path.name for path in store.root.glob("norms-*/*.safetensors")}


def test_a_part_of_a_smaller_model_ends_in_a_sentence(
    tiny_folder: Path, text_file: Path, store: Store, encoders: Encoders
) -> None:
    """Forged with care: it says of itself what it holds. What follows does not go with it."""
    experiment = Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=100)
    extraction = Extraction(experiment, store, encoders)
    whole = extraction.run(Progress())
    key = extraction.key_of(whole)
    smaller = replace(whole.measurements.head(32), cls_norms=whole.measurements.cls_norms[:32, :2])
    for part in store.parts(key).values():
        part.path.unlink()
    store.append(key, 0, smaller, seconds=1)
    with pytest.raises(StoreError, match="holds what another model measured"):
        Extraction(experiment, store, encoders).run(Progress())


def test_other_files_of_the_store_may_be_pipes(store: Store, measured: dict[Kind, Measurements]) -> None:
    key = KEYS[Kind.NORMS]
    with store.writer(key):
        store.append(key, 0, measured[Kind.NORMS], seconds=1)
    folder = store.root / key.folder_name
    for name in ("speed.json", "key.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert store.rate(key.model, key.precision) is None
    with store.writer(key):
        store.append(key, 100, measured[Kind.NORMS], seconds=1)
    assert store.rate(key.model, key.precision) == pytest.approx(len(SENTENCES))
    assert sorted(store.parts(key)) == [0, 100]


def test_what_is_whole_comes_back_to_the_last_bit(measured: dict[Kind, Measurements], tmp_path: Path) -> None:
    norms = measured[Kind.NORMS]
    without_pooler = replace(norms, pooler_norms=np.empty((len(norms), 0), np.float32))
    for number, (kind, measurements) in enumerate([*measured.items(), (Kind.NORMS, without_pooler)]):
        store = Store(tmp_path / str(number))
        read = store.read(store.append(KEYS[kind], 0, measurements, seconds=1))
        expected = arrays_of(measurements)
        assert arrays_of(read).keys() == expected.keys()
        for name, array in arrays_of(read).items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
            assert array.dtype == expected[name].dtype
