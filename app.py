"""The dashboard: streamlit run app.py."""

if __name__ == "__main__":  # Streamlit runs this file for a visitor
    from clsviz.ui.app import main

    main()
else:  # the server imports it as it starts
    import streamlit as st

    from clsviz import web

    app = st.App(__file__, routes=web.ROUTES, middleware=web.middleware(), lifespan=web.lifespan)
