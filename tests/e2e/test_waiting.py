"""Files of this machine are served while an editor or a mapped host does not answer."""

import os
import signal
from pathlib import Path
from typing import Any

from fileops.concurrency.workers import N_OF_A_SHARE
from support.rawclient import RawClient, edit_of, raw_client
from support.sshd import Sshd

N_REQUESTS = 24  # more than there are worker threads of any kind
APPLIES = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
APPLY = "workspace/applyEdit"


def file_in(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(b"one\ntwo\nthree\n")
    return path


def type_into(client: RawClient, path: Path) -> None:
    document = {"uri": path.as_uri(), "languageId": "text", "version": 1, "text": path.read_text()}
    client.notify("textDocument/didOpen", {"textDocument": document})
    change = {"text": "zero\n" + path.read_text()}
    client.notify(
        "textDocument/didChange", {"textDocument": {"uri": path.as_uri(), "version": 2}, "contentChanges": [change]}
    )


def require_local_edits(client: RawClient, path: Path, waiting: list[Any]) -> None:
    """That they are answered while nothing of what waits is."""
    client.read(path)
    assert client.result("fileops/edit", edit_of(path))["status"] == "success"
    assert not any(message.get("id") in waiting for message in client.received)


def require_cancel(client: RawClient, msg_id: Any) -> None:
    client.notify("$/cancelRequest", {"id": msg_id})
    assert client.answer(msg_id)["error"]["code"] == -32800


def test_unresponsive_editor_delays_no_edit_of_a_closed_file(tmp_path: Path) -> None:
    with raw_client() as client:
        client.initialize(APPLIES)
        documents = [file_in(tmp_path, f"{n}.txt") for n in range(N_REQUESTS)]
        for path in documents:
            type_into(client, path)
            assert client.read(path)["details"]["source"] == "buffer"
        waiting = [client.request("fileops/edit", edit_of(path)) for path in documents]
        asked = [client.question(APPLY) for _ in range(N_OF_A_SHARE)]
        require_local_edits(client, file_in(tmp_path, "local.txt"), waiting)
        require_cancel(client, waiting.pop())  # of one that waits to be asked about
        for n in range(len(waiting)):
            question = asked[n] if n < len(asked) else client.question(APPLY)
            client.reply(question["id"], {"applied": False})
        assert [client.answer(one)["result"]["error"]["code"] for one in waiting] == ["apply_refused"] * len(waiting)
        assert client.shut_down() == 0


def test_editor_is_served_while_many_edits_wait_for_its_answer(tmp_path: Path) -> None:
    """More edits of one document than requests are taken at once."""
    with raw_client() as client:
        client.initialize(APPLIES)
        path = file_in(tmp_path, "open.txt")
        type_into(client, path)
        client.read(path)
        waiting = [client.request("fileops/edit", edit_of(path)) for _ in range(200)]
        first = client.question(APPLY)
        require_local_edits(client, file_in(tmp_path, "local.txt"), waiting)
        client.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
        client.reply(first["id"], {"applied": False})
        codes = [(client.answer(one)["result"]["error"] or {"code": None})["code"] for one in waiting]
        assert codes[0] == "apply_refused"
        assert set(codes[1:]) == {"modified_externally"}
        assert client.shut_down() == 0


def test_hung_host_delays_no_edit_of_a_local_file(sshd: Sshd, tmp_path: Path) -> None:
    """R-MOUNT-7"""
    (tmp_path / "far").mkdir()
    for n in range(N_REQUESTS):
        file_in(tmp_path / "far", f"{n}.txt")
    filesystem = {"prefix": "/far", "url": sshd.url(str(tmp_path / "far")), "options": sshd.options}
    with raw_client() as client:
        client.initialize(initializationOptions={"filesystems": [filesystem]})
        client.read("/far/0.txt")
        stopped = sshd.holders()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            waiting = [client.request("fileops/read", {"file_path": f"/far/{n}.txt"}) for n in range(N_REQUESTS)]
            waiting += [client.request("fileops/edit", edit_of("/far/0.txt")) for _ in range(200)]
            require_local_edits(client, file_in(tmp_path, "local.txt"), waiting)
            cancelled = [waiting.pop(0), waiting.pop(N_REQUESTS - 2), *waiting[N_REQUESTS:]]
            del waiting[N_REQUESTS:]
            for one in cancelled:
                require_cancel(client, one)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert all("result" in client.answer(one) for one in waiting)
        assert client.shut_down() == 0


def test_opening_a_folder_of_a_hung_host_delays_no_local_edit(sshd: Sshd, tmp_path: Path) -> None:
    """R-INIT-3, R-MOUNT-7. Until the host has answered, the folder contains nothing; what comes after it sees it."""
    (tmp_path / "far" / "real").mkdir(parents=True)
    (tmp_path / "far" / "sub").symlink_to("real")
    (tmp_path / "near").mkdir()
    file_in(tmp_path / "far" / "real", "f.txt")
    filesystem = {"prefix": "/far", "url": sshd.url(str(tmp_path / "far")), "options": sshd.options}
    near, sub = ({"uri": uri, "name": ""} for uri in ((tmp_path / "near").as_uri(), "file:///far/sub"))
    with raw_client() as client:
        client.initialize(initializationOptions={"filesystems": [filesystem]}, workspaceFolders=[near])
        client.read("/far/sub/f.txt")
        assert client.result("fileops/edit", edit_of("/far/sub/f.txt"))["error"]["code"] == "outside_roots"
        connections, stopped = sshd.sessions(), sshd.holders()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [sub], "removed": []}})
            waiting = client.request("fileops/edit", edit_of("/far/sub/f.txt"))
            require_local_edits(client, file_in(tmp_path / "near", "local.txt"), [waiting])
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert client.answer(waiting)["result"]["status"] == "success"
        assert sshd.sessions() == connections  # the host was not given up, so nothing waited for it that long
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [sub]}})
        refused = client.result("fileops/edit", edit_of("/far/sub/f.txt", "2", "two"))
        assert refused["error"]["code"] == "outside_roots"
        assert client.shut_down() == 0
