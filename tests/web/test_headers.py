import base64
import hashlib
import re
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from clsviz.ui.state import serving
from clsviz.web import page
from clsviz.web.headers import content_security_policy


def directives(policy: str) -> dict[str, list[str]]:
    return {name: values for name, *values in (part.split() for part in policy.split(";"))}


def test_only_the_scripts_that_streamlit_sends_may_stand_in_the_page() -> None:
    shell = page.shell() + page.LEAVE
    inline = re.findall(r"<script>(.*?)</script>", shell, re.DOTALL)
    assert inline
    scripts = directives(content_security_policy(shell, "*"))["script-src"]
    for text in inline:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in scripts
    assert "'unsafe-inline'" not in scripts
    assert not [source for source in scripts if source.startswith(("http", "*"))]
    assert len(re.findall(r"<script\b", shell)) == len(inline) + len(re.findall(r'<script [^>]*src="\./static', shell))


def test_nothing_comes_from_elsewhere() -> None:
    allowed = directives(content_security_policy("", "'none'"))
    assert allowed["default-src"] == ["'none'"]
    assert allowed["frame-ancestors"] == ["'none'"]
    for sources in allowed.values():
        assert set(sources) <= {"'none'", "'self'", "'unsafe-inline'", "'unsafe-eval'", "data:", "blob:"}


@pytest.mark.parametrize("path", ["/", "/where_length_lives?layer=2", "/ready", "/metrics", "/preview.png", "/nowhere"])
def test_every_answer_has_the_headers(site: TestClient, path: str) -> None:
    headers = site.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "strict-origin-when-cross-origin"
    assert "frame-ancestors 'self' http://localhost:*" in headers["Content-Security-Policy"]


def test_other_sites_may_show_it_as_the_setting_says(
    open_site: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_FRAME_ANCESTORS", "https://huggingface.co")
    policy = open_site().get("/ready").headers["Content-Security-Policy"]
    assert directives(policy)["frame-ancestors"] == ["https://huggingface.co"]


def connect(site: TestClient, **headers: str) -> str:
    with site.websocket_connect("/_stcore/stream", headers=headers) as session:
        return session.receive_text()


@pytest.mark.parametrize("headers", [{}, {"origin": "http://demo.example"}, {"origin": "https://DEMO.example"}])
def test_a_page_of_this_site_and_a_program_may_connect(site: TestClient, headers: dict[str, str]) -> None:
    assert connect(site, host="demo.example", **headers) == "hello"
    assert site.put("/_stcore/upload", headers={"host": "demo.example", **headers}).text == "kept"


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://demo.example:81", "http://localhost", "null", "http://demo.example.evil"]
)
def test_a_page_of_another_site_may_not(site: TestClient, origin: str) -> None:
    with pytest.raises(WebSocketDisconnect) as refused:
        connect(site, host="demo.example", origin=origin)
    assert refused.value.code == 1008
    assert site.put("/_stcore/upload", headers={"origin": origin}).status_code == 403
    assert site.get("/ready", headers={"origin": origin}).status_code == 200  # a browser does not let it read that


@pytest.mark.parametrize(
    ("option", "value"), [("server.corsAllowedOrigins", ["https://other.example"]), ("server.enableCORS", False)]
)
def test_another_site_may_where_streamlits_own_settings_say_so(
    open_site: Callable[..., TestClient], option: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_option = serving.st.get_option
    monkeypatch.setattr("streamlit.get_option", lambda name: value if name == option else get_option(name))
    assert connect(open_site(), host="demo.example", origin="https://other.example") == "hello"


def test_so_may_a_page_of_the_address_that_browsers_know_the_server_by(
    open_site: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WebSocketDisconnect):
        connect(open_site(), host="10.0.0.7:8501", origin="http://localhost")
    get_option = serving.st.get_option
    monkeypatch.setattr(
        "streamlit.get_option", lambda key: "shown.example" if key == "browser.serverAddress" else get_option(key)
    )
    assert connect(open_site(), host="10.0.0.7:8501", origin="https://shown.example") == "hello"
    with pytest.raises(WebSocketDisconnect):
        connect(open_site(), host="10.0.0.7:8501", origin="https://other.example")


def test_the_server_is_asked_by_its_own_names_where_they_are_set(
    open_site: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_site().get("/ready", headers={"host": "anything.example"}).status_code == 200
    get_option, names = serving.st.get_option, ["demo.example", "*.demo.example"]
    monkeypatch.setattr("streamlit.get_option", lambda key: names if key == "server.allowedHosts" else get_option(key))
    site = open_site()
    status = {
        host: site.get("/ready", headers={"host": host}).status_code for host in ("evil.example", "a.demo.example")
    }
    assert status == {"evil.example": 400, "a.demo.example": 200}
    with pytest.raises(WebSocketDisconnect):
        connect(site, host="evil.example", origin="http://evil.example")


@pytest.mark.parametrize("path", ["/metrics", "/metrics/", "/_stcore/metrics"])
def test_metrics_are_for_this_machine_alone(open_site: Callable[..., TestClient], path: str) -> None:
    here, there = open_site(), open_site("203.0.113.9")
    assert here.get(path).status_code == 200
    assert there.get(path).status_code == 403
    assert here.get(path, headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 403
    assert there.get("/ready").status_code == 200


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_a_file_that_is_too_large_is_refused_before_it_is_received(
    open_site: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_UPLOAD_BYTES", "1MB")
    site = open_site()

    def status(content: object) -> int:
        return site.request(method, "/_stcore/upload_file/session/file", content=content).status_code

    assert status(b"x" * 2**20) != 413
    assert status(b"x" * 3 * 2**20) == 413
    assert status(iter([b"x"])) == 413  # it does not say how large it is


def test_so_many_files_are_taken_in_ten_minutes_and_a_quarter_of_them_from_one_address(
    open_site: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_UPLOAD_MEMORY_BYTES", "1MB")
    monkeypatch.setenv("CLSVIZ_LIMIT_TRUSTED_PROXIES", "1")
    site = open_site()

    def is_taken(address: str, kilobytes: int) -> bool:
        answer = site.put(
            "/_stcore/upload_file/session/file",
            content=b"x" * kilobytes * 2**10,
            headers={"X-Forwarded-For": address},
        )
        return answer.status_code != 503

    assert [is_taken("192.0.2.1", 120) for _ in range(4)] == [True, True, False, False]
    assert is_taken("192.0.2.2", 400)  # one alone may be larger than that
    assert is_taken("192.0.2.3", 300)
    assert not is_taken("192.0.2.4", 100)  # all together
    assert site.get("/ready").status_code == 200


def test_a_visitor_gets_so_many_previews_and_answers_a_minute(
    open_site: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    monkeypatch.setenv("CLSVIZ_LIMIT_PREVIEWS_PER_MINUTE", "2")
    monkeypatch.setenv("CLSVIZ_LIMIT_REQUESTS_PER_MINUTE", "5")
    site = open_site("198.51.100.1")
    links = [f"/preview.png?seed={seed}" for seed in range(2)] + ["/?seed=3", "/preview.png"]
    assert [site.get(link).status_code for link in links] == [200, 200, 429, 429]
    assert site.get("/", headers={"Sec-Fetch-Mode": "navigate"}).status_code == 200  # a browser, which gets a cookie
    assert site.get("/preview.png").status_code == 200  # and so is another visitor
    asked = [site.get("/nowhere") for _ in range(6)]
    assert [answer.status_code for answer in asked] == [404] * 5 + [429]
    assert asked[-1].headers["Retry-After"] == "60"
    assert "Content-Security-Policy" in asked[-1].headers
    assert open_site("198.51.100.2").get("/preview.png").status_code == 200


def test_a_visitor_connects_so_often_a_minute(
    open_site: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    monkeypatch.setenv("CLSVIZ_LIMIT_REQUESTS_PER_MINUTE", "5")
    site = open_site("198.51.100.1")
    assert [connect(site) for _ in range(5)] == ["hello"] * 5
    with pytest.raises(WebSocketDisconnect) as refused:
        connect(site)
    assert refused.value.code == 1008
    assert connect(open_site("198.51.100.2")) == "hello"
