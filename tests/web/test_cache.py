import threading

import pytest

from clsviz.web.cache import Pictures


def test_a_picture_is_drawn_once() -> None:
    pictures, drawn = Pictures(), []
    for _ in range(3):
        assert pictures.get("a", lambda: drawn.append(1) or b"picture") == b"picture"
    assert len(drawn) == 1


def test_the_longest_unused_go_when_there_are_too_many() -> None:
    pictures = Pictures(most=2)
    for key in "ababca":  # before c comes, b was used last
        pictures.get(key, key.encode)
    drawn: list[str] = []
    for key in "acb":
        pictures.get(key, lambda key=key: drawn.append(key) or b"new")
    assert (drawn, len(pictures)) == (["b"], 2)


@pytest.mark.parametrize("size", [10, 60, 101, 1000])
def test_their_bytes_are_bounded_too(size: int) -> None:
    pictures = Pictures(most=1000, most_bytes=100)
    for key in range(50):
        assert len(pictures.get(key, lambda: bytes(size))) == size
        assert pictures.n_bytes <= 100
    assert len(pictures) == 100 // size


def test_many_threads_may_ask_at_once() -> None:
    pictures = Pictures(most=3)
    threads = [
        threading.Thread(target=lambda: [pictures.get(n % 5, lambda: b"x") for n in range(500)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pictures) <= 3
