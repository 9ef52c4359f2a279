"""The dashboard: streamlit run app.py."""

import sys
from typing import TYPE_CHECKING

import streamlit as st

from clsviz.errors import SettingError
from clsviz.ui import failures

if TYPE_CHECKING:
    from clsviz.ui.first_steps import Example

if __name__ == "__main__":  # Streamlit runs this file for a visitor
    from clsviz.ui.app import main

    def examples() -> "list[Example]":
        """Those that the main page offers, asked for only when they are seen."""
        from clsviz.web import preview

        return preview.examples()

    main(examples)
else:  # the server imports it as it starts, without the pages: they load while the first browser does
    from clsviz.web import routes

    try:
        app = st.App(
            __file__,
            on_script_error=failures.answer,
            routes=routes.routes(),
            middleware=routes.middleware(),
            lifespan=routes.lifespan,
        )
    except SettingError as error:
        sys.exit(str(error))
    failures.keep_out_of_the_log()
