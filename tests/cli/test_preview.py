import json
from pathlib import Path

import pytest
from support.wrapped import book, paragraphs

from clsviz.cli.main import main
from clsviz.sources import segmentation


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "book.txt").write_text(book() + "\n\nIt said \x1b[2J and no more.\n")
    return str(tmp_path / "book.txt")


def test_a_file_is_shown_as_it_will_be_read(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preview", path, f"--store={tmp_path}"]) == 0
    shown = capsys.readouterr().out
    wanted = segmentation.sentences(paragraphs(), cut=True)
    assert f"book.txt: {len(wanted):,} sentences. Lines are wrapped at about 70 characters." in shown
    assert wanted[0] in shown
    assert "\x1b" not in shown
    bars = [line.rsplit(" ", 1)[1] for line in shown.split("\n") if "█" in line]
    assert sum(int(number.replace(",", "")) for number in bars) == len(wanted)


def test_it_can_be_read_otherwise_and_as_json(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preview", path, "--json", "--reading=lines", "--segmentation=sentences"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["reading"], found["segmentation"], found["width"], found["is_whole"]) == (
        "lines",
        "sentences",
        None,
        True,
    )
    assert len(found["examples"]) == 10
    assert found["words"]["minimum"] == 1
    assert main(["preview", "bookcorpus"]) == 2
    assert "“bookcorpus” is no file." in capsys.readouterr().err


@pytest.mark.parametrize("command", ["measure", "probe"])
def test_a_command_says_how_it_read_a_file(
    command: str, path: str, tiny_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [command, f"--model={tiny_folder}", f"--corpus={path}", "--sample-size=60", f"--store={tmp_path / 's'}"]
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "clsviz: book.txt: Lines are wrapped at about 70 characters." in err
    assert json.loads(out)["reading"] == "paragraphs"
    assert main([*arguments, "--reading=lines"]) == 0
    assert "book.txt: Each line is taken as one sentence." in capsys.readouterr().err
