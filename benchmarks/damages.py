"""What happens to a store, and whether it is still good for its answers: python -m benchmarks.damages [--only WORD].

A small store of measurements, results, corpora and imported vectors is copied, one of its files is damaged in one way,
and all that it has is asked for, as commands do. Each answer must have the same numbers as before, or be one sentence.
A traceback, a hang, other numbers, or another content of a file outside the store ends this program with 1.

Missing rights do not bind root, so commands that are to meet them run as another user. To become that user, and to fill
a disk, this program must be root; else it leaves those damages out.
"""

import argparse
import contextlib
import importlib
import io
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 120.0
"""Seconds after which commands count as hung."""

NOBODY = 65534

PRELOADED = [
    "clsviz.cli.results",
    "clsviz.encoder.encoder",
    "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert",
    "html",
    "pickletools",
    "statsmodels.api",
    "sklearn.model_selection",
]
"""For time, and because another user may have no right to read libraries."""

TEXTS, TIMES = "outside.txt", ("seconds", "sentences_per_second")

Damage = Callable[[Path], object]


class Answer(NamedTuple):
    """What a command ended with and wrote."""

    status: int
    output: str
    complaints: str


def _with(change: Callable[[bytes], bytes]) -> Damage:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def _instead(make: Damage) -> Damage:
    def replace(path: Path) -> None:
        path.unlink()
        make(path)

    return replace


def _swap(path: Path) -> None:
    """With another file of the store, if possible of the same format."""
    others = [other for other in sorted(path.parents[1].rglob("*")) if other.is_file() and other != path]
    other = next((other for other in others if other.suffix == path.suffix), others[0])
    content = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(content)


DAMAGES: dict[str, Damage] = {
    "deleted": Path.unlink,
    "emptied": _with(lambda content: b""),
    "cut in half": _with(lambda content: content[: len(content) // 2]),
    "longer": _with(lambda content: content + bytes(64)),
    "zeros": _with(lambda content: bytes(len(content) or 8)),
    "noise": _with(lambda content: os.urandom(len(content) or 8)),
    "one bit flipped": _with(lambda content: bytes([(content or b" ")[0] ^ 4]) + content[1:]),
    "nested too deep": _with(lambda content: b"[" * 100_000),
    "swapped": _swap,
    "a link outside": _instead(lambda path: path.symlink_to(path.parents[2] / TEXTS)),
    "a link to itself": _instead(lambda path: path.symlink_to(path)),
    "a link to nothing": _instead(lambda path: path.symlink_to("nothing")),
    "a link to /dev/zero": _instead(lambda path: path.symlink_to("/dev/zero")),
    "a FIFO": _instead(os.mkfifo),
    "a directory": _instead(Path.mkdir),
    "unreadable": lambda path: path.chmod(0),
}


def main() -> int:
    """Damage, ask, and say what did not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="WORD", help="of the damages, those with this in their name")
    only = parser.parse_args().only
    multiprocessing.set_forkserver_preload(PRELOADED)
    n_held = n_failed = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        asks, expected, outside = *prepare(folder), (folder / TEXTS).read_bytes()
        for name, store, user in damaged(folder, only):
            began = time.monotonic()
            answers = ask(asks, store, user)
            wrong = [f"{said}: {problem}" for said in asks if (problem := judge(answers.get(said), expected[said]))]
            wrong += [] if (folder / TEXTS).read_bytes() == outside else ["a file outside is another"]
            print(f"{name}: {'; '.join(wrong) or 'held'} ({time.monotonic() - began:.1f} s)", flush=True)
            n_held, n_failed = n_held + (not wrong), n_failed + bool(wrong)
    print(f"{n_held + n_failed} damages, {n_held} held")
    return int(n_failed > 0)


def prepare(folder: Path) -> tuple[dict[str, list[str]], dict[str, Mapping[str, Any]]]:
    """Fill the store `folder`/whole; what is asked of it, and the answers."""
    import numpy as np

    tiny = importlib.import_module("tests.support.tiny")  # at run time, since tests are not type-checked
    model, texts = tiny.write_bert(folder / "model"), folder / TEXTS
    texts.write_text("\n".join(tiny.random_sentences(200, seed=1)))
    np.save(folder / "own.npy", np.random.default_rng(0).normal(size=(200, 8)).astype("f4"))
    words = ["import", str(folder / "own.npy"), f"--texts={texts}", "--json"]
    imported = json.loads(ask({"import": words}, folder / "whole")["import"].output)
    common = [f"--corpus={texts}", "--probe-size=100", "--json"]
    asks = {
        "norms": ["measure", f"--model={model}", *common],
        "vectors": ["probe", f"--model={model}", *common],
        "random": ["measure", f"--model=untrained:{model}", *common],
        "own": ["probe", f"--model={imported['model']}", f"--corpus={imported['corpus']}", "--json"],
    }
    ask(asks, folder / "whole")
    return asks, {name: json.loads(answer.output) for name, answer in ask(asks, folder / "whole").items()}


def damaged(folder: Path, only: str) -> Iterator[tuple[str, Path, int]]:
    """A name, a damaged copy of the store, and the user who asks."""
    whole, store, is_root = folder / "whole", folder / "store", os.geteuid() == 0
    names = [str(path.relative_to(whole)) for path in sorted(whole.rglob("*")) if path.is_file()]
    kinds = {re.sub(r"^(norms|vectors)-\w+(?=/[a-z])|[0-9a-f]{9,}", "", name): name for name in names}
    for name in kinds.values():
        for how, damage in DAMAGES.items():
            if only in f"{name} {how}" and (is_root or how != "unreadable"):
                _copy(whole, store)
                damage(store / name)
                yield f"{name} {how}", store, NOBODY if how == "unreadable" else 0
    for name in sorted(path.name for path in whole.iterdir()):
        if only in f"{name} a file":
            _copy(whole, store)
            shutil.rmtree(store / name)
            shutil.copy(folder / TEXTS, store / name)
            yield f"{name} a file", store, 0
    if is_root and only in "read-only full":
        _copy(whole, store)
        for path in [*store.glob("*/000000000-*"), *store.glob("results/*")]:
            path.unlink()  # so that something is to be written
        with _full(store) as full:
            yield "full", full, 0
        for path in [store, *store.rglob("*")]:
            path.chmod(path.stat().st_mode & 0o555)
        yield "read-only", store, NOBODY


def _copy(whole: Path, store: Path) -> None:
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(whole, store)
    for path in [store, *store.rglob("*")] if os.geteuid() == 0 else ():
        os.chown(path, NOBODY, NOBODY)


@contextlib.contextmanager
def _full(store: Path) -> Iterator[Path]:
    """The store on a disk that has no room."""
    mount, umount = shutil.which("mount") or "mount", shutil.which("umount") or "umount"
    disk = store.with_name("disk")
    disk.mkdir()
    subprocess.run([mount, "-t", "tmpfs", "-o", "size=1M", "tmpfs", disk], check=True)
    try:
        shutil.copytree(store, disk / "store")
        with contextlib.suppress(OSError), (disk / "filling").open("wb", 0) as filling:
            while filling.write(bytes(4096)):
                pass
        yield disk / "store"
    finally:
        subprocess.run([umount, disk], check=True)


def ask(asks: Mapping[str, list[str]], store: Path, user: int = 0) -> dict[str, Answer]:
    """The answers of commands, one after the other in a process of their own; without those that it did not come to."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)  # noqa: S103  (another user writes there)
        process = multiprocessing.get_context("forkserver").Process(target=_run, args=(asks, store, user, Path(folder)))
        process.start()
        process.join(PATIENCE)
        process.kill()
        process.join()
        return {path.name: Answer(*json.loads(path.read_text())) for path in Path(folder).iterdir()}


def _run(asks: Mapping[str, list[str]], store: Path, user: int, folder: Path) -> None:
    os.environ |= {"CLSVIZ_STORE": str(store)}
    if user:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    from clsviz.cli.main import main as command

    for name, words in asks.items():
        output, complaints = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaints):
            status = command(words)
        (folder / name).write_text(json.dumps([status, output.getvalue(), complaints.getvalue()]))


def judge(answer: Answer | None, expected: Mapping[str, Any]) -> str:
    """What is wrong with an answer, or ""."""
    if answer is None:
        return "no answer: a hang or a traceback"
    if answer.status == 0:
        found = json.loads(answer.output)
        differ = {name for name in expected if name not in TIMES and found[name] != expected[name]}
        return f"other {', '.join(sorted(differ))}" if differ else ""
    is_sentence = answer.status == 2 and re.fullmatch(r"(clsviz: .*\n)+", answer.complaints) and not answer.output
    return "" if is_sentence else f"ends with {answer.status}: {answer.output[-200:]}{answer.complaints[-200:]}"


if __name__ == "__main__":
    sys.exit(main())
