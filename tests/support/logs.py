"""What is logged.

pytest's own fixture for that is turned off: six times a test it would go through the hundred loggers of Streamlit.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO


@contextmanager
def logged(*names: str) -> Iterator[StringIO]:
    """What these loggers are told meanwhile; by default all that pass it on."""
    said = StringIO()
    handler = logging.StreamHandler(said)
    loggers = [logging.getLogger(name) for name in names or [""]]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield said
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
