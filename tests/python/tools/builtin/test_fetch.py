"""Pages of the web as text; the client itself is a stand-in here."""

import sys
import time
import types
from typing import Any

import pytest
from loopwright.tools.builtin._html import to_text

PAGE = """<!doctype html><html><head><title>The  page</title><style>p{}</style><script>var x = "<p>no</p>";</script></head>
<body><nav><a href="/home">Home</a></nav><h1>Head &amp; line</h1><p>One <b>two</b>
three.</p><ul><li>first<li>second</ul><pre>  keep
   this</pre><table><tr><th>a</th><td>b</td></tr></table><img alt="a cat" src="x"><a href="javascript:x()">odd</a>
<!-- comment --><noscript>off</noscript></body></html>"""


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = types.ModuleType("loopwright._core")
    monkeypatch.setitem(sys.modules, "loopwright._core", module)
    return module


def serve(core: Any, **page: Any) -> None:
    async def fetch_page(url: str) -> dict[str, Any]:
        return {"status": 200, "url": url, "content_type": "text/html; charset=utf-8", "text": PAGE, **page}

    core.fetch_page = fetch_page


def test_html_becomes_text() -> None:
    title, text = to_text(PAGE, base="https://example.org/x/")
    assert title == "The page"
    assert text.splitlines()[0] == "[Home](https://example.org/home)"
    for words in (
        "# Head & line",
        "One two three.",
        "- first\n- second",
        "  keep\n   this",
        "| a | b",
        "[picture: a cat]",
        "odd",
    ):
        assert words in text
    for words in ("var x", "p{}", "comment", "off", "javascript", "\n\n\n"):
        assert words not in text


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<a",
        "<!--",
        "<![CDATA[",
        "<?",
        "</",
        "<a href='",
        "&",
        "&#",
        "<div>",
        "<script>",
        "<!",
        "<a b=",
        "<!x",
        " ",
        "<td>",
    ],
)
def test_hostile_html_ends_soon(piece: str) -> None:
    began = time.monotonic()
    to_text(piece * (300_000 // len(piece)))
    assert time.monotonic() - began < 3


def test_fetching(box: Any, core: Any) -> None:
    serve(core)
    text = box.ok("fetch", url="https://example.org/")
    assert text.startswith("The page\nhttps://example.org/\n\n")
    assert "# Head & line" in text


def test_plain_text_and_paging(box: Any, core: Any) -> None:
    serve(core, content_type="text/plain", text="x" * 70_000 + "END")
    first = box.ok("fetch", url="https://example.org/")
    assert "go on with offset=30000" in first
    assert box.ok("fetch", url="https://example.org/", offset=60_000).endswith("END")


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ({"status": 404}, "http_status"),
        ({"status": 500}, "http_status"),
        ({"content_type": "application/pdf"}, "not_text"),
    ],
)
def test_pages_that_can_not_be_read(box: Any, core: Any, page: Any, kind: str) -> None:
    serve(core, **page)
    assert box.fails("fetch", url="https://example.org/")["kind"] == kind


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http://localhost/",
        "http://127.0.0.1:8080/",
        "http://[::1]/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://printer.local/",
        "http://user:password@example.org/",
        "http://example.org/a b",
        "http://example.org/\r\nX: y",
        "http://example.org:99999/",
        "http://[broken/",
        "https://example.org/" + "x" * 3_000,
    ],
)
def test_addresses_that_are_refused_before_anything_is_sent(box: Any, core: Any, url: str) -> None:
    def fetch_page(_: str) -> None:
        pytest.fail("was sent")

    core.fetch_page = fetch_page
    assert box.fails("fetch", url=url)["kind"] == "invalid_url"


def test_without_the_compiled_part(box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "loopwright._core", None)
    assert box.fails("fetch", url="https://example.org/")["kind"] == "unavailable"


def test_failure_of_the_client(box: Any, core: Any) -> None:
    async def fetch_page(url: str) -> None:
        raise OSError("no route")

    core.fetch_page = fetch_page
    failure = box.fails("fetch", url="https://example.org/")
    assert failure["kind"] == "fetch_failed"
    assert "no route" in failure["message"]
