"""What goes to the browsers is compressed quickly, and any browser can read it."""

import asyncio

import pytest
import uvicorn
from uvicorn.protocols.websockets import websockets_sansio_impl
from uvicorn.server import ServerState
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import Frame, Opcode

from clsviz.web import compression


@pytest.mark.parametrize("window", [None, 9])  # 9: of a browser that wants it smaller
def test_a_connection_compresses_quickly_and_is_understood(monkeypatch: pytest.MonkeyPatch, window: int | None) -> None:
    factory = websockets_sansio_impl.ServerPerMessageDeflateFactory
    monkeypatch.setattr(websockets_sansio_impl, "ServerPerMessageDeflateFactory", factory)  # as it was, afterwards
    compression.hasten()
    config = uvicorn.Config("app:app", ws="websockets-sansio")
    loop = asyncio.new_event_loop()  # never run: another may be running in this thread, such as Playwright's
    protocol = websockets_sansio_impl.WebSocketsSansIOProtocol(config, ServerState(), {}, loop)
    loop.close()
    (offered,) = protocol.conn.available_extensions

    browser = ClientPerMessageDeflateFactory(server_max_window_bits=window, client_max_window_bits=True)
    agreed, server = offered.process_request_params(browser.get_request_params(), [])
    content = b'{"labels":["A sentence.","Another one, which is longer."]}' * 100
    sent = server.encode(Frame(Opcode.BINARY, content))
    assert len(sent.data) < len(content) / 5
    assert browser.process_response_params(agreed, []).decode(sent).data == content
    assert server.compress_settings["level"] == 1
