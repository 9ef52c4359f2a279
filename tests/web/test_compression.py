"""What goes to the browsers is compressed quickly, and any browser can read it."""

import asyncio
import zlib

import numpy as np
import pytest
import uvicorn
from uvicorn.protocols.websockets import websockets_sansio_impl
from uvicorn.server import ServerState
from websockets.extensions import Extension
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory, PerMessageDeflate
from websockets.frames import Frame, Opcode

from clsviz.web import compression


def agreed(monkeypatch: pytest.MonkeyPatch, window: int | None) -> tuple[Extension, Extension]:
    """How the server and a browser compress what they send each other; window: what the browser wants of the server."""
    factory = websockets_sansio_impl.ServerPerMessageDeflateFactory
    monkeypatch.setattr(websockets_sansio_impl, "ServerPerMessageDeflateFactory", factory)  # as it was, afterwards
    compression.hasten()
    config = uvicorn.Config("app:app", ws="websockets-sansio")
    loop = asyncio.new_event_loop()  # never run: another may be running in this thread, such as Playwright's
    protocol = websockets_sansio_impl.WebSocketsSansIOProtocol(config, ServerState(), {}, loop)
    loop.close()
    (offered,) = protocol.conn.available_extensions
    browser = ClientPerMessageDeflateFactory(server_max_window_bits=window, client_max_window_bits=True)
    answer, server = offered.process_request_params(browser.get_request_params(), [])
    return server, browser.process_response_params(answer, [])


@pytest.mark.parametrize("window", [None, 9])  # 9: of a browser that wants it smaller
def test_a_connection_compresses_quickly_and_is_understood(monkeypatch: pytest.MonkeyPatch, window: int | None) -> None:
    server, browser = agreed(monkeypatch, window)
    content = b'{"labels":["A sentence.","Another one, which is longer."]}' * 1_000
    sent = server.encode(Frame(Opcode.BINARY, content))
    assert len(sent.data) < len(content) / 5
    assert browser.decode(sent).data == content
    assert isinstance(server, PerMessageDeflate)
    assert server.compress_settings is not None
    assert server.compress_settings["level"] == 1


def test_what_is_compressed_already_goes_as_it_is_between_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    server, browser = agreed(monkeypatch, None)
    text = b'{"labels":["A sentence.","Another one, which is longer."]}' * 1_000
    packed = zlib.compress(np.random.default_rng(0).bytes(40_000) + text)
    assert len(packed) > 40_000
    sent = [server.encode(Frame(Opcode.BINARY, content)) for content in (text, b"head" + packed, text)]
    assert [frame.rsv1 for frame in sent] == [True, False, True]
    assert sent[1].data == b"head" + packed
    assert [browser.decode(frame).data for frame in sent] == [text, b"head" + packed, text]
