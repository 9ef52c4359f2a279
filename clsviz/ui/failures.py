"""What nobody foresaw: the visitor reads one sentence, and the log has what we need, without what a visitor sent."""

import logging
import traceback
from pathlib import Path

import streamlit as st

from clsviz.errors import ClsvizError, UnexpectedError
from clsviz.ui.markdown import escape

_LOGGERS = ("streamlit.error_util", "clsviz.jobs.job", "clsviz.jobs.queue")
"""Those that log exceptions whose messages may hold what a visitor sent."""

_OURS = str(Path(__file__).parents[1])
_READS_MESSAGES = str(Path("streamlit", "runtime", "state"))


def answer(error: Exception) -> bool:
    """Say in a sentence what went wrong, in the place where it did; Streamlit calls this for what nobody caught."""
    if isinstance(error, ClsvizError):
        st.error(escape(error))
    elif is_forged(error):
        st.error("The page was sent a value that its controls cannot have. Reload it to go on.")
    else:
        st.error(escape(UnexpectedError()))
    return True


def is_forged(error: BaseException) -> bool:
    """Whether Streamlit could not read what it was sent as the value of a control."""
    names = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    last_of_ours = max((at for at, name in enumerate(names) if name.startswith(_OURS)), default=-1)
    return any(_READS_MESSAGES in name for name in names[last_of_ours + 1 :])


def keep_out_of_the_log() -> None:
    """Keep what visitors send out of the log, once and for all."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(known, _WithoutMessages) for known in logger.filters):
            logger.addFilter(_WithoutMessages())


class _WithoutMessages(logging.Filter):
    """On a public server, replaces an exception in the log by where it was raised, and its type.

    Anywhere else it only shortens what is no fault of ours.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.exc_info or record.exc_info[1] is None:
            return True
        from clsviz.ui.state import server  # with which much is loaded that the server starts without

        kind, error, where = record.exc_info
        if isinstance(error, ClsvizError) or is_forged(error):
            record.msg, record.args = "A message from a browser could not be used: %s", (kind.__name__,)
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.exc_info = record.exc_text = None
        elif server.limits().is_public:
            frames = "".join(traceback.format_tb(where)) + kind.__name__
            record.msg, record.args = f"{record.getMessage()}\n{frames}".replace("%", "%%"), ()
            record.exc_info = record.exc_text = None
        return True
