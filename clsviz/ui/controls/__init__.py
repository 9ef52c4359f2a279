"""The sidebar: what costs model time, how far it is, and the view, which is instant.

Every control gets its value twice: through the session's state, where it is kept, and as its default. Streamlit sends
the first only once, and drops it if a second run of the page begins before the browser has received it. With
persist_state it keeps the values of controls that a page does not draw.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
