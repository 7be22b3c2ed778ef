"""Statistics and telemetry, through the daemon. Requirements: R-STATS-* of docs/PROTOCOL.md."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fileops_client import Answer, FileOpsClient, Question, ResponseError

SECRET = "a very secret line"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "confidential.txt"
    path.write_text(f"one\ntwo\n{SECRET}\n")
    return path


# R-STATS-1
async def test_calls_and_their_outcomes_are_counted(file: Path) -> None:
    async with FileOpsClient.start(root=file.parent) as client:
        await client.read(file, session_id="s")
        await client.edit(file, "one", "1\n1", session_id="s")
        await client.edit(file, "absent", "x", session_id="s")
        await client.edit(file, "two", "2", session_id="s", dry_run=True)
        await client.multi_edit(file, [("two", "2"), ("1\n1\n", "one\n")], session_id="s")
        await client.read(file.parent / "nothing")
        with pytest.raises(ResponseError):
            await client.edit(file, "a", "b", strategy="magic", session_id="s")
        told = await client.stats(session_id="s")
        assert told.session_id == "s"
        assert told.calls == {"fileops/read": 1, "fileops/edit": 4, "fileops/multiEdit": 1}
        assert told.outcomes == {"ok": 4, "no_match": 1, "invalid_params": 1}
        assert told.matches == {"exact": 3}
        assert (told.lines.added, told.lines.removed) == (4, 4)
        assert told.latency_ms["fileops/edit"].n == 4
        for latency in told.latency_ms.values():
            assert 0 < latency.p50 <= latency.p90 <= latency.p99 <= latency.max
        everything = await client.stats()
        assert everything.calls == told.calls | {"fileops/read": 2, "fileops/stats": 1}
        assert everything.outcomes["not_found"] == 1
        await client.close_session("s")
        assert (await client.stats(session_id="s")).calls == {}
        assert (await client.stats()).calls["fileops/edit"] == 4


# R-STATS-2
async def test_shares_of_undone_and_modified_edits_are_reported(file: Path) -> None:
    answers = iter([Answer(outcome="proceed_once"), Answer(outcome="modify", text="mine\n")])

    async def decide(question: Question) -> Answer:
        return next(answers)

    async with FileOpsClient.start(root=file.parent, confirm_edit=decide) as client:
        await client.read(file)
        edit_id = (await client.edit(file, "one", "1")).details.get("edit_id")
        await client.edit(file, "two", "2")
        await client.set_approval_mode("yolo")
        assert (await client.edit(file, "mine", "yours")).ok
        assert (await client.edit(file, "yours", "ours")).ok
        edits = (await client.stats()).edits
        assert (edits.applied, edits.modified_by_user, edits.undone, edits.share_modified) == (4, 1, 0, 0.25)
        last_id = (await client.history(limit=1))[0].edit_id
        assert last_id != edit_id
        assert (await client.undo(edit_id=last_id)).ok
        edits = (await client.stats(session_id="default")).edits
        assert (edits.applied, edits.undone, edits.share_undone) == (4, 1, 0.25)


# --- telemetry ------------------------------------------------------------------------------------------------------


class Receiver(http.server.ThreadingHTTPServer):
    """A loopback OTLP receiver that keeps what it is sent."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver  # pyrefly: ignore[bad-override-mutable-attribute]

    def do_POST(self) -> None:
        self.server.bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


# R-STATS-4
async def test_spans_and_metrics_reach_the_receiver_without_content(file: Path, receiver: Receiver) -> None:
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{receiver.server_port}",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
    }
    async with FileOpsClient.start(root=file.parent, env=env) as client:
        await client.read(file)
        assert (await client.edit(file, SECRET, "another secret")).ok
        assert (await client.edit(file, "absent words", "x")).code == "no_match"
    paths = [path for path, _ in receiver.bodies]
    assert {"/v1/traces", "/v1/metrics"} <= set(paths)
    sent = b"".join(body for _, body in receiver.bodies)
    for word in (b"fileops/read", b"fileops/edit", b"no_match", b"fileops.call.duration", b"fileops-server"):
        assert word in sent
    for word in (SECRET.encode(), b"another secret", b"absent words", b"confidential", bytes(file.parent)):
        assert word not in sent


async def test_console_exporter_writes_to_stderr_and_frames_stay_intact(file: Path) -> None:
    lines: list[str] = []
    env = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none"}
    async with FileOpsClient.start(root=file.parent, env=env, on_stderr=lines.append) as client:
        await client.read(file)
        assert (await client.read(file)).ok
    assert any('"name": "fileops/read"' in line for line in lines)
    assert SECRET not in "".join(lines)


async def test_unresponsive_receiver_delays_no_request(file: Path) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "60"}
    async with FileOpsClient.start(root=file.parent, env=env) as client:
        assert (await client.read(file)).ok
        assert await client.close() == 0
