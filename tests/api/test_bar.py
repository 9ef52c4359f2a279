import time

import pytest

from clsviz.api.inputs import Bar


def test_a_stage_that_takes_longer_than_a_second_has_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar() as bar:
        bar.begin("Measuring", total=10, unit=" sentences")
        bar.advance(1)
        assert capsys.readouterr().err == ""
        time.sleep(1.2)
        bar.advance(10)
    assert "Measuring" in capsys.readouterr().err


def test_no_bar_is_shown_where_none_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar(is_shown=False) as bar:
        bar.begin("Measuring", total=10, unit=" sentences")
        time.sleep(1.2)
        bar.advance(10)
    assert capsys.readouterr().err == ""
