"""The dashboard: streamlit run app.py."""

import sys

import streamlit as st
from streamlit import runtime

from clsviz import web
from clsviz.errors import SettingError
from clsviz.ui import failures

if runtime.exists():  # a visitor opens a page
    from clsviz.ui.app import main

    main(lambda: web.examples())  # which are imported only when they are seen
else:  # the server starts, without the pages: they load while the first browser does
    try:
        app = st.App(
            __file__,
            on_script_error=failures.answer,
            routes=web.routes(),
            middleware=web.middleware(),
            lifespan=web.lifespan,
        )
    except SettingError as error:
        sys.exit(str(error))
    failures.keep_out_of_the_log()
