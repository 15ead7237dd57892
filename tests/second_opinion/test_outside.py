"""A service gives scores, and whatever it does instead costs at most the timeout."""

import base64
import contextlib
import json
import logging
import shutil
import socket
import ssl
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from abound import posting
from abound.posting import address_of
from abound.second_opinion import outside
from abound.second_opinion.outside import OpinionCounts, OutsideOpinion

LABELS = [("b", "bees"), ("a", "apples")]
SCORES = {"scores": {"a": 0.5, "b": -3}}
EXPECTED = {"a": 0.5, "b": -3.0}


class Service(BaseHTTPRequestHandler):
    """Answer with `answer`, or as `act` does."""

    protocol_version = "HTTP/1.1"
    answer: object = SCORES
    status = 200
    act = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).seen.append((self.path, json.loads(body), self.headers.get("Authorization")))
        self.close_connection = True
        with contextlib.suppress(OSError):  # nobody waits any longer
            if self.act is not None:
                return self.act()
            return self.send(self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode())

    def do_GET(self):  # what a redirect would become
        type(self).seen.append((self.path, None, None))
        self.close_connection = True
        type(self).status = 200
        self.send(json.dumps(SCORES).encode())

    def send(self, raw, **headers):
        self.send_response(self.status)
        for name, value in {"Content-Length": len(raw), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        pass


class Quiet(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for the handlers
    request_queue_size = 64

    def handle_error(self, *_):
        pass


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", outside.KEY):
        monkeypatch.delenv(name, raising=False)


def new_handler():
    return type("Handler", (Service,), {"seen": [], "over": threading.Event()})


@contextlib.contextmanager
def serving(handler, context=None):
    with Quiet(("127.0.0.1", 0), handler) as one:
        if context is not None:
            one.socket = context.wrap_socket(one.socket, server_side=True)
        handler.url = f"http{'s' if context else ''}://127.0.0.1:{one.server_port}/score"
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield
        handler.over.set()
        one.shutdown()
        thread.join()


@pytest.fixture
def service():
    handler = new_handler()
    with serving(handler):
        yield handler


@pytest.fixture
def certificate(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run(
        [*command, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "certificate.pem"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    return tmp_path / "certificate.pem", tmp_path / "key.pem"


@pytest.fixture
def encrypted(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    handler = new_handler()
    with serving(handler, context):
        yield handler


def posting_threads():
    return [thread for thread in threading.enumerate() if thread.name == "abound-post"]


def wait_until(condition, seconds=5.0):
    ends = time.monotonic() + seconds
    while not condition() and time.monotonic() < ends:
        time.sleep(0.005)
    return condition()


def test_scores_are_returned(service):
    opinion = OutsideOpinion(service.url)
    assert opinion.ask("red fruit", LABELS) == EXPECTED
    sorted_labels = [{"id": "a", "name": "apples"}, {"id": "b", "name": "bees"}]
    assert service.seen == [("/score", {"text": "red fruit", "labels": sorted_labels}, None)]
    assert opinion.counts == OpinionCounts(asked=1, answered=1)
    assert not opinion.is_failing


def test_fields_are_joined(service):
    assert OutsideOpinion(service.url).ask({"title": "Roses é \ud800", "body": "Grow"}, LABELS) == EXPECTED
    assert service.seen[0][1]["text"] == "Roses é \ud800\nGrow"


def test_labels_may_be_missing_and_unknown(service):
    service.answer = {"scores": {"a": 1, "z": float("nan"), "y": "much"}, "model": "x"}
    opinion = OutsideOpinion(service.url)
    assert opinion.ask("text", LABELS) == {"a": 1.0}
    assert opinion.ask("text", LABELS) == {"a": 1.0}  # from the cache
    service.answer = {"scores": {}}
    assert opinion.ask("other", LABELS) == {}
    assert opinion.ask("nothing", []) == {}
    assert opinion.counts == OpinionCounts(asked=2, answered=2, cached=1)


def test_an_answer_is_cached_by_text_labels_and_names(service):
    opinion = OutsideOpinion(service.url, cache_size=2)
    first = opinion.ask("one", LABELS)
    first["a"] = 7.0  # the caller's own
    assert opinion.ask("one", LABELS[::-1]) == EXPECTED
    assert len(service.seen) == 1
    for text, labels in (("two", LABELS), ("two", LABELS[:1]), ("two", [("b", "bears"), ("a", "apples")])):
        opinion.ask(text, labels)
    assert len(service.seen) == 4
    opinion.ask("two", LABELS[:1])
    opinion.ask("three", LABELS)  # replaces the one that was used least recently
    opinion.ask("two", LABELS[:1])
    assert len(service.seen) == 5
    opinion.ask("one", LABELS)
    assert len(service.seen) == 6
    assert opinion.counts == OpinionCounts(asked=6, answered=6, cached=3)


def test_nothing_is_cached_if_the_size_is_zero(service):
    opinion = OutsideOpinion(service.url, cache_size=0)
    assert [opinion.ask("one", LABELS) for _ in range(2)] == [EXPECTED] * 2
    assert len(service.seen) == 2


def test_a_budget_limits_the_requests_of_any_minute(service, monkeypatch):
    monkeypatch.setattr(outside, "BUDGET_SECONDS", 1.0)
    opinion = OutsideOpinion(service.url, budget=2)
    answers = [opinion.ask(f"text {n}", LABELS) for n in range(4)]
    assert answers == [EXPECTED, EXPECTED, None, None]
    assert opinion.ask("text 0", LABELS) == EXPECTED  # the cache has no budget
    time.sleep(1.05)
    assert opinion.ask("text 4", LABELS) == EXPECTED
    assert opinion.counts == OpinionCounts(asked=3, answered=3, cached=1, over_budget=2)


def by_bytes(*parts):
    def act(handler):
        for one in parts:
            for byte in one:
                handler.wfile.write(bytes([byte]))
                if handler.over.wait(0.1):
                    return

    return act


@pytest.mark.parametrize(
    "act",
    [
        by_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b" " * 1000),
        by_bytes(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        lambda handler: (handler.send(b"", **{"Content-Length": 100}), by_bytes(b" " * 100)(handler)),
        lambda handler: (
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            by_bytes(b"1\r\n \r\n" * 100)(handler),
        ),
        lambda handler: handler.over.wait(10),
    ],
    ids=["headers", "continue", "body", "chunks", "silence"],
)
def test_a_slow_service_costs_the_timeout_in_total(service, act):
    service.act = act
    opinion = OutsideOpinion(service.url, timeout=0.4)
    began = time.monotonic()
    assert opinion.ask("text", LABELS) is None
    assert 0.35 < time.monotonic() - began < 1.6
    assert opinion.counts == OpinionCounts(asked=1, failed=1)
    assert wait_until(lambda: not posting_threads(), 4.0), "the request goes on although nobody waits for it"


def test_a_host_that_does_not_accept_costs_the_timeout():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        others = [socket.socket() for _ in range(8)]
        for one in others:  # fill the queue of connections
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        began = time.monotonic()
        opinion = OutsideOpinion(f"http://127.0.0.1:{full.getsockname()[1]}", timeout=0.3)
        assert opinion.ask("text", LABELS) is None
        assert time.monotonic() - began < 1.5
        assert wait_until(lambda: not posting_threads(), 4.0)
        for one in others:
            one.close()


def test_a_slow_name_lookup_costs_the_timeout_and_sends_nothing(service, monkeypatch):
    lookup, is_over = socket.getaddrinfo, threading.Event()

    def slow(*arguments, **settings):
        is_over.wait(5)
        return lookup(*arguments, **settings)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    began = time.monotonic()
    assert OutsideOpinion(service.url, timeout=0.3).ask("text", LABELS) is None
    assert time.monotonic() - began < 1.5
    is_over.set()
    assert wait_until(lambda: not posting_threads())
    assert service.seen == []


BAD = {
    "not JSON": b"<html>",
    "cut off": json.dumps(SCORES).encode()[:-1],
    "empty": b"",
    "not UTF-8": b'{"scores": {"a": 1}, "x": "\xff"}',
    "deep": b"[" * 200_000,
    "list": [1, 2],
    "no scores": {"a": 1},
    "list of scores": {"scores": [1, 2]},
    "list of labels": {"scores": ["a", "b"]},
    "NaN": {"scores": {"a": float("nan"), "b": 1}},
    "infinite": b'{"scores": {"a": 1e999, "b": 1}}',
    "huge": b'{"scores": {"a": 1' + b"0" * 400 + b', "b": 1}}',
    "text": {"scores": {"a": "0.5"}},
    "null": {"scores": {"a": None}},
    "boolean": {"scores": {"a": True}},
    "only unknown": {"scores": {"apples": 1}},
    "too large": json.dumps(SCORES).encode() + b" " * (1 << 20),
}


@pytest.mark.parametrize("name", BAD)
def test_an_answer_that_cannot_be_used_is_none(service, name):
    service.answer = BAD[name]
    opinion = OutsideOpinion(service.url)
    assert opinion.ask("text", LABELS) is None
    assert opinion.counts == OpinionCounts(asked=1, failed=1)
    service.answer = SCORES
    assert opinion.ask("text", LABELS) == EXPECTED  # a failure is not cached


def test_an_answer_of_nearly_the_largest_size_is_read(service):
    service.answer = {**SCORES, "pad": "x" * ((1 << 20) - 100)}
    assert OutsideOpinion(service.url).ask("text", LABELS) == EXPECTED


def test_an_answer_without_end_is_not_read_to_the_end(service):
    sent = []

    def act(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not handler.over.is_set():
            handler.wfile.write(b" " * 65536)
            sent.append(65536)

    service.act = act
    began = time.monotonic()
    assert OutsideOpinion(service.url, timeout=5).ask("text", LABELS) is None
    assert time.monotonic() - began < 3  # refused for its size, not for the time
    assert wait_until(lambda: not posting_threads())
    assert sum(sent) < 100 << 20


def test_an_answer_that_ends_early_is_none(service):
    service.act = lambda handler: handler.send(json.dumps(SCORES).encode(), **{"Content-Length": 1000})
    assert OutsideOpinion(service.url).ask("text", LABELS) is None


@pytest.mark.parametrize("status", [204, 301, 307, 401, 404, 429, 500, 503])
def test_a_status_that_is_not_a_success_is_none(service, status):
    service.status = status
    service.act = lambda handler: handler.send(json.dumps(SCORES).encode() if status != 204 else b"")
    assert OutsideOpinion(service.url).ask("text", LABELS) is None
    assert len(service.seen) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(service, status):
    service.status = status
    service.act = lambda handler: handler.send(b"", Location=service.url + "/elsewhere")
    assert OutsideOpinion(service.url).ask("text", LABELS) is None
    assert [path for path, *_ in service.seen] == ["/score"]


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"\x1b[31mno\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200]
)
def test_a_connection_that_is_closed_or_not_http_is_none(service, said, caplog):
    service.act = lambda handler: handler.wfile.write(said)
    assert OutsideOpinion(service.url).ask("text", LABELS) is None
    assert len(caplog.messages) == 1
    assert "\x1b" not in caplog.messages[0]  # caplog.text has no control sequences in any case


def test_a_dead_service_is_asked_rarely_and_again_when_it_is_back(service, caplog):
    service.status = 500
    opinion = OutsideOpinion(service.url, pause=0.6)
    assert [opinion.ask("text", LABELS) for _ in range(20)] == [None] * 20
    assert len(service.seen) == 5
    assert opinion.counts == OpinionCounts(asked=5, failed=5, paused=15)
    assert opinion.is_failing
    time.sleep(0.65)
    assert [opinion.ask("text", LABELS) for _ in range(5)] == [None] * 5
    assert len(service.seen) == 6  # one request tests it
    service.status = 200
    assert opinion.ask("text", LABELS) is None
    time.sleep(0.65)
    assert [opinion.ask("text", LABELS), opinion.ask("other", LABELS)] == [EXPECTED] * 2
    assert not opinion.is_failing
    assert [(record.levelno, record.name) for record in caplog.records] == [
        (logging.WARNING, "abound.second_opinion.outside")
    ] * 2
    assert caplog.messages == [
        f"no second opinion of {service.url}: it answered 500; labels are ranked without it",
        f"the second opinion of {service.url} is available again",
    ]


def test_only_one_thread_tests_a_dead_service(service):
    service.status = 500
    opinion = OutsideOpinion(service.url, pause=0.6, timeout=5)
    for _ in range(5):
        opinion.ask("text", LABELS)
    time.sleep(0.65)
    is_asked = threading.Event()
    service.act = lambda handler: (is_asked.set(), handler.over.wait(0.2), handler.send(b"{}"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: opinion.ask(f"text {n}", LABELS), range(8)))
    assert is_asked.is_set()
    assert len(service.seen) == 6


def test_a_cached_answer_needs_no_service(service):
    opinion = OutsideOpinion(service.url)
    opinion.ask("text", LABELS)
    service.status = 500
    for n in range(10):
        opinion.ask(f"other {n}", LABELS)
    assert opinion.ask("text", LABELS) == EXPECTED


def test_an_unsteady_service_is_reported_rarely(service, caplog, monkeypatch):
    monkeypatch.setattr(outside, "REPORT_SECONDS", 0.5)
    opinion = OutsideOpinion(service.url, pause=0)
    began = time.monotonic()
    for n in range(12):
        service.status = 200 if n % 2 else 500
        opinion.ask(f"text {n}", LABELS)
    if time.monotonic() - began < 0.5:  # otherwise the machine is too slow for this test
        assert len(caplog.messages) == 2
    time.sleep(0.55)
    caplog.clear()
    service.status = 500
    for n in range(2):
        opinion.ask(f"last {n}", LABELS)
        time.sleep(0.55)
    assert len(caplog.messages) == 1  # it fails all the time, which is reported once


def test_nobody_listens(caplog):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    opinion = OutsideOpinion(f"http://127.0.0.1:{port}/")
    began = time.monotonic()
    assert [opinion.ask("text", LABELS) for _ in range(10)] == [None] * 10
    assert time.monotonic() - began < 2.0
    assert "refused" in caplog.text.lower()


def test_credentials_are_sent_and_not_logged(service, caplog, monkeypatch):
    service.status = 500
    service.act = lambda handler: handler.send(handler.headers["Authorization"].encode())
    url = service.url.replace("://", "://me%40home:s3cr%3At@") + "?token=hidden"
    assert OutsideOpinion(url).ask("text", LABELS) is None
    path, _, sent = service.seen[0]
    assert (path, base64.b64decode(sent.removeprefix("Basic "))) == ("/score?token=hidden", b"me@home:s3cr:t")
    assert service.url in caplog.text
    assert not any(word in caplog.text for word in ("s3cr", "me%40", "hidden", sent[10:]))
    monkeypatch.setenv(outside.KEY, " k3y\n")
    OutsideOpinion(service.url).ask("text", LABELS)
    assert service.seen[1][2] == "Bearer k3y"
    assert "k3y" not in caplog.text
    with pytest.raises(ValueError, match="got both") as refused:
        OutsideOpinion(url)
    assert "s3cr" not in str(refused.value)
    monkeypatch.setenv(outside.KEY, "a\nb")
    with pytest.raises(ValueError, match="printable ASCII"):
        OutsideOpinion(service.url)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "127.0.0.1:80",
            "ftp://u:s3cret@a/b",
            "file:///etc/passwd",
            "http://",
            "http:///score",
            "http://u:s3cret@/",
        ),
        *("http://a:x/", "http://a:0/", "http://[a", "http://a/b c", "http://a\n/", "http://a/é"),
    ],
)
def test_an_address_of_something_else_is_refused(url):
    with pytest.raises(ValueError, match="must be an ASCII URL") as refused:
        OutsideOpinion(url)
    assert "s3cret" not in str(refused.value)


def test_an_address_keeps_its_port_and_query():
    assert address_of("https://a:8443/x?y=1#z")[:2] == ("https://a:8443/x?y=1", "https://a:8443/x")
    assert address_of("http://[::1]:80/")[:2] == ("http://[::1]:80/", "http://[::1]:80/")


@pytest.mark.parametrize("bad", [{"timeout": 0}, {"timeout": float("nan")}, {"budget": 0}, {"cache_size": -1}])
def test_bad_arguments_are_refused(bad):
    with pytest.raises(ValueError, match=f"^{next(iter(bad))} must be"):
        OutsideOpinion("http://127.0.0.1/", **bad)


def test_threads_ask_at_the_same_time(service):
    meeting = threading.Barrier(8)
    opinion = OutsideOpinion(service.url, budget=40, cache_size=20, timeout=10)

    def run(n):
        meeting.wait()
        return [opinion.ask(f"text {(n * 7 + i) % 60}", LABELS) for i in range(60)]

    with ThreadPoolExecutor(8) as pool:
        answers = [one for run in pool.map(run, range(8)) for one in run]
    counts = opinion.counts
    assert counts.asked == counts.answered == len(service.seen) == 40
    assert counts.failed == counts.paused == 0
    assert counts.asked + counts.cached + counts.over_budget == len(answers) == 480
    assert sum(one == EXPECTED for one in answers) == counts.asked + counts.cached
    assert sum(one is None for one in answers) == counts.over_budget


def test_slow_answers_of_several_threads_are_waited_for_at_once(service):
    service.act = lambda handler: (handler.over.wait(0.3), handler.send(json.dumps(SCORES).encode()))
    opinion = OutsideOpinion(service.url, timeout=5)
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: opinion.ask(f"text {n}", LABELS), range(8))) == [EXPECTED] * 8
    assert time.monotonic() - began < 1.8  # not 8 times 0.3


def test_a_connection_is_encrypted_and_its_certificate_is_checked(encrypted, certificate, monkeypatch, caplog):
    assert OutsideOpinion(encrypted.url).ask("text", LABELS) is None
    assert encrypted.seen == []
    assert "certificate" in caplog.text
    trusting = ssl.create_default_context(cafile=certificate[0])
    monkeypatch.setattr(posting, "_tls", lambda: trusting)
    assert OutsideOpinion(encrypted.url).ask("text", LABELS) == EXPECTED
    encrypted.act = by_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b" " * 1000)
    began = time.monotonic()
    assert OutsideOpinion(encrypted.url, timeout=0.4).ask("text", LABELS) is None
    assert 0.35 < time.monotonic() - began < 1.6
    assert wait_until(lambda: not posting_threads(), 4.0)


def test_a_slow_handshake_costs_the_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        opinion = OutsideOpinion(f"https://127.0.0.1:{silent.getsockname()[1]}/", timeout=0.3)
        began = time.monotonic()
        assert opinion.ask("text", LABELS) is None
        assert time.monotonic() - began < 1.5
        assert wait_until(lambda: not posting_threads(), 4.0)
