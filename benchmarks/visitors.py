"""Visitors without a browser, who speak Streamlit’s protocol: part of python -m benchmarks.load, in its own process.

It reads visits from stdin as JSON, one list a line, makes them all at once, and prints what each met as JSON, a line
for each visit when it ends and one for its first points; after the last of them an empty line. Like a browser, a
visitor asks for the page and its cookie, connects, runs the script, and runs its fragments again as often as they ask.
"""

import asyncio
import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

import httpx2
import orjson
import websockets
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_COOKIE = "_streamlit_xsrf"

_MEASURED = re.compile(r":material/check: [\d,]+ sentences? measured")
_SO_FAR = re.compile(r"[\d,]+ of ([\d,]+) sentences, [\d,]+–")
"""How many are measured: the first number is of those that are short enough to be shown."""
_RUN = re.compile(r"Measure( ·|$)")
"""The button that starts what would take a slow or busy machine long."""
_QUEUE = re.compile(r"(One|[\d,]+) runs? comes? first")


@dataclass(frozen=True)
class Visit:
    """One visit. number: tells visitors apart, each of whom has an address of their own.

    begins: seconds from the beginning of the crowd. until: “points”, or “measured” for all of them, after which the
    visitor leaves, or “time”. stays: how many seconds longer; patience: at most so many.
    """

    number: int
    page: str = ""
    query: str = ""
    begins: float = 0.0
    until: str = "points"
    stays: float = 0.0
    patience: float = 120.0


@dataclass
class Met:
    """What a visitor met, at which times (seconds of the system’s clock).

    points: of the first picture that has any. measured: when the page said that all was measured. told: each place in
    the queue that it told, and when. counts: how many sentences the page said were measured. n_looks: how often the
    page looked for news. is_lost: whether the server closed the connection. has_pressed: whether the visitor had to
    press Measure.
    """

    number: int
    began: float
    points: float | None = None
    measured: float | None = None
    left: float = 0.0
    told: list[tuple[float, int]] = field(default_factory=list)
    counts: list[tuple[float, int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    n_looks: int = 0
    n_bytes: int = 0
    is_lost: bool = False
    has_pressed: bool = False


class Visitor:
    """One visitor of the server at `address`, such as http://127.0.0.1:8501/."""

    def __init__(self, address: str, visit: Visit) -> None:
        self._address, self._visit = address, visit
        self._own = f"127.{1 + visit.number // 62_500}.{visit.number // 250 % 250}.{1 + visit.number % 250}"
        self._looking: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self._sending = asyncio.Lock()
        self.met = Met(visit.number, time.time())

    async def come(self) -> Met:
        """Visit, and leave; what was met."""
        visit, met = self._visit, self.met
        try:
            async with asyncio.timeout(visit.patience), self._client() as client:
                cookies = await self._ask(client)
                async with websockets.connect(
                    f"ws{self._address.removeprefix('http')}_stcore/stream",
                    origin=self._address.rstrip("/"),  # type: ignore[arg-type]
                    subprotocols=["streamlit", cookies[_COOKIE]],  # type: ignore[list-item]
                    additional_headers={"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())},
                    local_addr=(self._own, 0),
                    max_size=None,
                    max_queue=None,
                    close_timeout=1,
                ) as socket:
                    await self._send(socket)
                    await self._read(socket)
        except TimeoutError:
            met.errors.append(f"It took longer than {visit.patience:.0f} s.")
        except (OSError, httpx2.HTTPError, websockets.WebSocketException) as error:
            met.is_lost = True
            if visit.until != "time":
                met.errors.append(f"{type(error).__name__}: {error}")
        finally:
            self._stop_looking()
        met.left = time.time()
        return met

    def _client(self) -> httpx2.AsyncClient:
        transport = httpx2.AsyncHTTPTransport(verify=False, local_address=self._own)  # no certificates to read
        return httpx2.AsyncClient(transport=transport, timeout=60, base_url=self._address)

    async def _ask(self, client: httpx2.AsyncClient) -> dict[str, str]:
        """Ask for the page as a browser’s navigation does, and as Streamlit’s script does then; the cookies given."""
        query = f"?{self._visit.query}" if self._visit.query else ""
        page = await client.get(f"/{self._visit.page}{query}", headers={"Sec-Fetch-Mode": "navigate"})
        page.raise_for_status()
        await asyncio.gather(client.get("/_stcore/health"), client.get("/_stcore/host-config"))
        return dict(client.cookies)

    async def _send(self, socket: websockets.ClientConnection, fragment: str = "", button: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name = self._visit.query, self._visit.page
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        if button:
            state.widget_states.widgets.add(id=button).trigger_value = True
        state.context_info.url = f"{self._address}{self._visit.page}"
        state.context_info.timezone, state.context_info.locale = "UTC", "en-GB"
        async with self._sending:
            await socket.send(message.SerializeToString())

    async def _look(self, socket: websockets.ClientConnection, fragment: str, seconds: float) -> None:
        with contextlib.suppress(websockets.WebSocketException):
            while True:
                await asyncio.sleep(seconds)
                self.met.n_looks += 1
                await self._send(socket, fragment)

    async def _read(self, socket: websockets.ClientConnection) -> None:
        button = ""
        while (seconds := self._seconds_to_stay()) > 0:
            try:
                content = await asyncio.wait_for(socket.recv(), None if seconds == float("inf") else seconds)
            except TimeoutError:
                return
            assert isinstance(content, bytes)
            message = ForwardMsg()
            message.ParseFromString(content)
            self.met.n_bytes += len(content)
            kind = message.WhichOneof("type")
            if kind == "delta":
                element = message.delta.new_element
                self._see(element)
                if element.WhichOneof("type") == "button" and _RUN.match(element.button.label):
                    button = element.button.id
            elif kind == "script_finished" and button:
                await self._press(socket, button)
                button = ""
            elif kind == "new_session" and not message.metadata.run.fragment_ids:
                self._stop_looking()
            elif kind == "auto_rerun":
                self._go_on_looking(socket, message.auto_rerun.fragment_id, message.auto_rerun.interval)
            elif kind == "stop_auto_rerun":
                self._stop_looking(message.stop_auto_rerun.fragment_ids)

    async def _press(self, socket: websockets.ClientConnection, button: str) -> None:
        if not self.met.has_pressed and self._visit.until == "measured":
            self.met.has_pressed = True
            await self._send(socket, button=button)

    def _seconds_to_stay(self) -> float:
        met = self.met
        both = None if met.points is None or met.measured is None else max(met.points, met.measured)
        end = {"points": met.points, "measured": both, "time": met.began}[self._visit.until]
        return float("inf") if end is None else end + self._visit.stays - time.time()

    def _go_on_looking(self, socket: websockets.ClientConnection, fragment: str, seconds: float) -> None:
        if fragment in self._looking and self._looking[fragment][0] == seconds:
            return
        self._stop_looking([fragment])
        self._looking[fragment] = seconds, asyncio.create_task(self._look(socket, fragment, seconds))

    def _stop_looking(self, fragments: Iterable[str] | None = None) -> None:
        for name in [*self._looking] if fragments is None else fragments:
            if name in self._looking:
                self._looking.pop(name)[1].cancel()

    def _see(self, element: Element) -> None:
        now, met, kind = time.time(), self.met, element.WhichOneof("type")
        if met.points is None and has_points(element):
            met.points = now
            print(json.dumps({"number": met.number, "points": now}), flush=True)
        elif kind == "exception" or (kind == "alert" and element.alert.format == Alert.ERROR):
            met.errors.append(str(element.exception.message if kind == "exception" else element.alert.body))
        elif kind == "progress" and (place := _QUEUE.match(element.progress.text)):
            met.told.append((now, 1 if place[1] == "One" else int(place[1].replace(",", ""))))
        elif kind == "markdown":
            if met.measured is None and _MEASURED.search(element.markdown.body):
                met.measured = now
            if count := _SO_FAR.search(element.markdown.body):
                met.counts.append((now, int(count[1].replace(",", ""))))


def has_points(element: Element) -> bool:
    """Whether the element is a scatter with points, which may be fetched by their name."""
    if element.WhichOneof("type") != "bidi_component" or element.bidi_component.component_name != "clsviz.chart":
        return False
    sent = orjson.loads(element.bidi_component.json)
    return bool(sent["route"]) or '"scattergl"' in sent["figure"]


async def _come(address: str, visit: Visit) -> None:
    await asyncio.sleep(visit.begins)
    met = await Visitor(address, visit).come()
    print(json.dumps(asdict(met)), flush=True)


async def _come_all(address: str, visits: list[Visit]) -> None:
    await asyncio.gather(*(_come(address, visit) for visit in visits))


def main() -> None:
    """Make the visits that are read, crowd after crowd, until there are no more."""
    os.nice(15)  # real ones have machines of their own
    for line in sys.stdin:
        asked = json.loads(line)
        asyncio.run(_come_all(asked["address"], [Visit(**visit) for visit in asked["visits"]]))
        print(flush=True)


if __name__ == "__main__":
    main()
