"""Shell commands through the daemon. Requirements: R-BASH-* of docs/PROTOCOL.md."""

import asyncio
import os
import pathlib
import signal
from typing import Any, cast

import pytest

from fileops.service.commands import N_COMMANDS
from fileops_client import Answer, CommandQuestion, FileOpsClient, Options, ResponseError
from support.patience import PATIENCE_S, wait_until
from support.sshd import Sshd, descendants_of, is_alive

BASH: Options = {"bash": True}


def pid_in(file: pathlib.Path) -> int:
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


async def test_bash_is_off_by_default(tmp_path: pathlib.Path) -> None:
    """R-BASH-1"""
    async with FileOpsClient.start(root=tmp_path) as client:
        with pytest.raises(ResponseError) as refused:
            await client.bash("echo hi")
        assert refused.value.code == -32601
        assert "fileops/bash" not in client.capabilities["experimental"]["fileops"]["requests"]
        assert [tool.name for tool in await client.tools()] == ["Read", "Edit", "MultiEdit"]
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        assert "fileops/bash" in client.capabilities["experimental"]["fileops"]["requests"]
        assert [tool.name for tool in await client.tools()] == ["Read", "Edit", "MultiEdit", "Bash"]


async def test_call_by_name_runs_a_command(tmp_path: pathlib.Path) -> None:
    """R-BASH-1"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        assert (await client.call("Bash", {"command": "echo hi"})).output == "hi\n"
        assert (await client.call("Bash", {"command": 3})).code == "invalid_params"


@pytest.mark.parametrize("timeout_s", [86_401, 2_147_484, 3_600_000, 1e300])
async def test_timeout_beyond_a_day_is_refused_before_the_command_runs(
    tmp_path: pathlib.Path, timeout_s: float
) -> None:
    """R-BASH-5, R-PARAMS-3"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        with pytest.raises(ResponseError) as refused:
            await client.request("fileops/bash", {"command": "touch ran", "timeout_s": timeout_s})
        assert refused.value.code == -32602
        assert refused.value.data == {"path": "$.timeout_s", "reason": "must be at most 86400"}
        assert (await client.bash("echo hi", timeout_s=86_400)).output == "hi\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("echo one; echo two >&2; echo three", "one\ntwo\nthree\n", 0),
        ("true", "(no output)", 0),
        ("echo no; exit 7", "no\n\n\nCommand exited with code 7", 7),
        ("exit 1", "Command exited with code 1", 1),
        ("kill -TERM $$", "Command exited with code 143", 143),
        ("kill -KILL $PPID", "Command exited with code 137", 137),  # what runs the command, as an OOM killer does
        ("cat; echo end", "end\n", 0),
        ("printf 'a\\377\\000b'", "a\ufffd\0b", 0),
        ("[[ a == a ]] && echo bash", "bash\n", 0),
        ("nonsense-of-a-command 2>/dev/null", "Command exited with code 127", 127),
    ],
)
async def test_command_returns_its_output(tmp_path: pathlib.Path, command: str, output: str, code: int) -> None:
    """R-BASH-2"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        result = await client.bash(command)
        assert (result.ok, result.output, result.details.get("exit_code")) == (True, output, code)


async def test_command_runs_in_the_workspace_and_keeps_no_state(tmp_path: pathlib.Path) -> None:
    """R-BASH-2"""
    (tmp_path / "below").mkdir()
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        assert (await client.bash("pwd -P")).output == f"{tmp_path.resolve()}\n"
        await client.bash("cd below; export X=1")
        assert (await client.bash("echo $X$(basename $PWD)")).output == f"{tmp_path.name}\n"
        assert (await client.bash("basename $PWD", cwd=tmp_path / "below")).output == "below\n"
        missing = await client.bash("true", cwd=tmp_path / "missing")
        assert (missing.code, missing.details.get("exit_code")) == ("command_failed", None)
        assert "No such file or directory" in missing.output
        assert (await client.bash("true", cwd="below")).code == "not_absolute"
        with pytest.raises(ResponseError):
            await client.bash("")


async def test_long_output_keeps_its_ends(tmp_path: pathlib.Path) -> None:
    """R-BASH-3"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        result = await client.bash("seq 1 500000")
        assert result.output.startswith("1\n2\n3\n")
        assert result.output.endswith("\n499999\n500000\n")
        assert "bytes of output are left out here" in result.output
        assert len(result.output) < 525_000
        assert result.details.get("truncated") is True
        assert result.details.get("n_output_bytes") == len("".join(f"{i}\n" for i in range(1, 500_001)))


async def test_output_is_streamed(tmp_path: pathlib.Path) -> None:
    """R-BASH-4"""
    heard: list[str] = []
    begun = asyncio.Event()

    def hear(message: str) -> None:
        heard.append(message)
        begun.set()

    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        go = tmp_path / "go"
        os.mkfifo(go)
        running = asyncio.create_task(client.bash(f"echo first; cat {go}; echo last", on_output=hear))
        async with asyncio.timeout(PATIENCE_S):
            await begun.wait()
        assert not running.done()
        await asyncio.to_thread(go.write_text, "")
        assert (await running).output == "first\nlast\n"
    assert "".join(heard) == "first\nlast\n"


async def test_long_command_shows_progress_and_can_be_cancelled_in_the_editor(tmp_path: pathlib.Path) -> None:
    """R-CANCEL-3."""
    created: asyncio.Queue[Any] = asyncio.Queue()

    async def create(params: Any) -> None:
        created.put_nowait(params["token"])

    async with FileOpsClient.start(
        root=tmp_path,
        initialization_options=BASH,
        handlers={"window/workDoneProgress/create": create},
        capabilities={"window": {"workDoneProgress": True}},
    ) as client:
        os.mkfifo(tmp_path / "never")
        with client.events("$/progress") as progress:
            running = client.begin("fileops/bash", {"command": "cat never"})
            token = await asyncio.wait_for(created.get(), PATIENCE_S)
            begun = (await progress.next(timeout_s=PATIENCE_S)).params
            assert begun == {
                "token": token,
                "value": {"kind": "begin", "title": "Running a command", "cancellable": True},
            }
            client.notify("window/workDoneProgress/cancel", {"token": token})
            with pytest.raises(ResponseError) as refusal:
                await asyncio.wait_for(running, PATIENCE_S)
            assert refusal.value.code == -32800
            assert (await progress.next(timeout_s=PATIENCE_S)).params == {"token": token, "value": {"kind": "end"}}


async def test_missing_working_folder_is_named(tmp_path: pathlib.Path) -> None:
    """R-BASH-2"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        result = await client.bash("true", cwd="/no such/folder")
        assert (result.code, result.error and result.error.message) == (
            "command_failed", "The command could not be started: No such file or directory: /no such/folder."
        )  # fmt: skip


async def test_timeout_ends_the_whole_process_group(tmp_path: pathlib.Path) -> None:
    """R-BASH-5"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        result = await client.bash("echo begun; (trap '' TERM; sleep 1000) & echo $! > pid; wait", timeout_s=0.5)
        assert (result.code, result.output) == ("command_timeout", "begun\n\n\nCommand timed out after 0.5 seconds")
        wait_until(lambda: not is_alive(pid_in(tmp_path / "pid")))
        wait_until(lambda: descendants_of(client.pid) == [])


async def test_processes_left_by_a_command_are_ended_with_it(tmp_path: pathlib.Path) -> None:
    """R-BASH-5"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        assert (await client.bash("sleep 1000 & echo $! > pid; echo done")).output == "done\n"
        wait_until(lambda: not is_alive(pid_in(tmp_path / "pid")))


async def test_cancel_ends_the_whole_process_group(tmp_path: pathlib.Path) -> None:
    """R-BASH-5"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        call = client.begin("fileops/bash", {"command": "sleep 1000 & echo $! > pid; wait"})
        pid = await asyncio.to_thread(pid_in, tmp_path / "pid")
        call.cancel()
        with pytest.raises(ResponseError) as refused:
            await call
        assert refused.value.code == -32800
        wait_until(lambda: not is_alive(pid))


async def test_cancel_of_a_queued_command_is_answered_at_once(tmp_path: pathlib.Path) -> None:
    """R-BASH-5"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        running = [
            client.begin("fileops/bash", {"command": f"touch {n}; until [ -e go ]; do sleep 0.05; done"})
            for n in range(N_COMMANDS)
        ]
        for n in range(N_COMMANDS):
            await asyncio.to_thread(wait_until, (tmp_path / str(n)).exists)
        queued = client.begin("fileops/bash", {"command": "touch queued"})
        queued.cancel()
        with pytest.raises(ResponseError) as refused:
            await asyncio.wait_for(queued, 20)  # no command ends before it is answered
        assert refused.value.code == -32800
        assert not any(call.done() for call in running)
        (tmp_path / "go").touch()
        assert [answer["status"] for answer in await asyncio.gather(*running)] == ["success"] * N_COMMANDS
        assert (await client.bash("ls")).output.split() == [*map(str, range(N_COMMANDS)), "go"]


async def test_always_for_a_closed_session_holds_for_that_command_alone(
    tmp_path: pathlib.Path,
) -> None:
    """R-APPROVE-9"""
    asked, unlock_and_close_later = asyncio.Queue[None](), asyncio.Event()

    async def confirm(_question: CommandQuestion) -> Answer:
        asked.put_nowait(None)
        await unlock_and_close_later.wait()
        return Answer(outcome="proceed_always")

    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH, confirm_command=confirm) as client:
        waiting = asyncio.create_task(client.bash("echo x", session_id="s"))
        await asyncio.wait_for(asked.get(), 20)
        await client.close_session("s")
        unlock_and_close_later.set()
        assert (await waiting).ok
        for n_asked in (1, 0):  # the next session of that id is asked, and its own yes counts
            assert (await client.bash("echo x", session_id="s")).ok
            assert asked.qsize() == n_asked
            while not asked.empty():
                asked.get_nowait()


@pytest.mark.parametrize("how", ["shutdown", "SIGTERM", "SIGKILL"])
async def test_end_of_the_daemon_ends_its_commands(tmp_path: pathlib.Path, how: str) -> None:
    """R-BASH-5"""
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        client.begin("fileops/bash", {"command": "sleep 1000 & echo $! > pid; wait"})
        pid = await asyncio.to_thread(pid_in, tmp_path / "pid")
        if how != "shutdown":
            os.kill(client.pid, getattr(signal, how))
    wait_until(lambda: not is_alive(pid))


async def test_tracked_files_are_checked_after_a_command(tmp_path: pathlib.Path) -> None:
    """R-BASH-6"""
    (tmp_path / "a.txt").write_text("one\n")
    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH) as client:
        await client.read(tmp_path / "a.txt")
        with client.events("fileops/didBecomeStale") as events:
            await client.bash("echo two > a.txt")
            assert [file.state for file in await client.tracked()] == ["stale"]
            assert (await events.next(timeout_s=PATIENCE_S)).file_path == str(tmp_path / "a.txt")
        assert (await client.edit(tmp_path / "a.txt", "two", "x")).code == "modified_externally"


async def test_result_reports_changes_of_read_files_by_the_command(tmp_path: pathlib.Path) -> None:
    """R-NOTE-1"""
    (tmp_path / "a.txt").write_text("one\n")
    async with FileOpsClient.start(root=tmp_path, initialization_options={**BASH, "notices": "output"}) as client:
        await client.read(tmp_path / "a.txt")
        ran = await client.bash("echo done; echo two > a.txt")
        assert ran.output.startswith("done\n")
        assert "-one" in ran.output
        assert "+two" in ran.output
        [notice] = ran.details.get("notices", [])
        assert notice["file_path"] == str(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("mode", "outcomes", "asked", "codes"),
    [
        ("default", ["proceed_once", "cancel"], 2, [None, "rejected"]),
        ("auto_edit", ["proceed_always"], 1, [None, None]),
        ("default", ["modify", "proceed_once"], 2, ["undecided", None]),
        ("yolo", [], 0, [None, None]),
    ],
)
async def test_command_requires_approval(
    tmp_path: pathlib.Path, mode: str, outcomes: list[Any], asked: int, codes: list[str | None]
) -> None:
    """R-BASH-7"""
    questions: list[CommandQuestion] = []

    async def confirm(question: CommandQuestion) -> Answer:
        questions.append(question)
        return Answer(outcome=outcomes[len(questions) - 1])

    options = cast("Options", {**BASH, "approval_mode": mode})
    async with FileOpsClient.start(root=tmp_path, initialization_options=options, confirm_command=confirm) as client:
        results = [await client.bash("echo x >> said", session_id="me") for _ in range(2)]
    assert [result.code for result in results] == codes
    assert questions == [CommandQuestion(command="echo x >> said", cwd=str(tmp_path), session_id="me")] * asked
    assert (tmp_path / "said").read_text() == "x\n" * codes.count(None)


async def test_always_holds_for_the_command_in_its_folder_alone(tmp_path: pathlib.Path) -> None:
    """R-BASH-7"""
    asked: list[str] = []
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()

    async def confirm(question: CommandQuestion) -> Answer:
        asked.append(question.cwd)
        return Answer(outcome="proceed_always")

    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH, confirm_command=confirm) as client:
        for folder in (*folders, *folders):
            assert (await client.bash("echo x", cwd=str(folder))).ok
    assert asked == [str(folder) for folder in folders]


async def test_question_has_the_description_of_the_command(tmp_path: pathlib.Path) -> None:
    """R-BASH-7"""
    questions: list[CommandQuestion] = []

    async def confirm(question: CommandQuestion) -> Answer:
        questions.append(question)
        return Answer(outcome="cancel")

    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH, confirm_command=confirm) as client:
        await client.bash("make", description="Build it once more")
    assert [question.description for question in questions] == ["Build it once more"]


@pytest.mark.parametrize(
    ("chosen", "asked", "codes"),
    [
        ({"title": "Run"}, 2, [None, None]),
        ({"title": "Always"}, 1, [None, None]),
        ({"title": "Reject"}, 2, ["rejected", "rejected"]),
        (None, 2, ["undecided", "undecided"]),
    ],
)
async def test_editor_without_a_plugin_asks_by_a_message(
    tmp_path: pathlib.Path, chosen: Any, asked: int, codes: list[str | None]
) -> None:
    """R-BASH-7"""
    messages: list[str] = []

    async def choose(params: Any) -> Any:
        messages.append(params["message"])
        assert [action["title"] for action in params["actions"]] == ["Run", "Always", "Reject"]
        return chosen

    options: Options = {**BASH, "approval_fallback": "message"}
    handlers = {"window/showMessageRequest": choose}
    async with FileOpsClient.start(root=tmp_path, initialization_options=options, handlers=handlers) as client:
        results = [await client.bash("echo x", description="Say x", session_id="me") for _ in range(2)]
    assert [result.code for result in results] == codes
    assert messages == [f"Run a command for me?\necho x\nin {tmp_path}\nSay x"] * asked


async def test_cancelled_command_withdraws_its_question(tmp_path: pathlib.Path) -> None:
    """R-BASH-7"""
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def think(_question: CommandQuestion) -> Answer:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            withdrawn.set()
            raise
        raise AssertionError

    async with FileOpsClient.start(root=tmp_path, initialization_options=BASH, confirm_command=think) as client:
        call = asyncio.ensure_future(client.bash("touch made"))
        await asyncio.wait_for(asked.wait(), PATIENCE_S)
        call.cancel()
        await asyncio.wait_for(withdrawn.wait(), PATIENCE_S)
    assert os.listdir(tmp_path) == []


async def test_unanswered_question_runs_nothing(tmp_path: pathlib.Path) -> None:
    """R-BASH-7"""

    async def think(_question: CommandQuestion) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    options: Options = {**BASH, "approval_timeout_s": 0.2}
    async with FileOpsClient.start(root=tmp_path, initialization_options=options, confirm_command=think) as client:
        result = await client.bash("touch made")
        assert result.code == "approval_timeout"
        assert "The proposed command was not answered" in result.output
    assert os.listdir(tmp_path) == []


def far(sshd: Sshd, folder: pathlib.Path) -> Options:
    return {**BASH, "filesystems": [{"prefix": "/far", "url": sshd.url(str(folder)), "options": sshd.options}]}


async def test_command_in_a_folder_over_ssh_runs_on_that_host(sshd: Sshd, tmp_path: pathlib.Path) -> None:
    """R-BASH-8"""
    (tmp_path / "it's").mkdir()
    async with FileOpsClient.start(initialization_options=far(sshd, tmp_path), roots="anywhere") as client:
        result = await client.bash("pwd; [ -n \"$SSH_CONNECTION\" ] && echo 'on a host'; exit 3", cwd="/far/it's")
        assert result.output == f"{tmp_path}/it's\non a host\n\n\nCommand exited with code 3"
        for timeout_s in (2, 8, 30):  # a login takes its time on a busy host
            result = await client.bash("sleep 1000 & echo $! > pid; wait", cwd="/far", timeout_s=timeout_s)
            assert result.code == "command_timeout"
            if (tmp_path / "pid").exists():
                break
        wait_until(lambda: not is_alive(pid_in(tmp_path / "pid")))


async def test_lost_connection_ends_the_remote_command(sshd: Sshd, tmp_path: pathlib.Path) -> None:
    """R-BASH-8"""
    async with FileOpsClient.start(initialization_options=far(sshd, tmp_path), roots="anywhere") as client:
        call = client.begin("fileops/bash", {"command": "sleep 1000 & echo $! > pid; wait", "cwd": "/far"})
        pid = await asyncio.to_thread(pid_in, tmp_path / "pid")
        for holder in sshd.holders():
            os.kill(holder, signal.SIGKILL)  # the connection alone; the command's own processes are not touched
        result = await call
        assert result["details"]["exit_code"] == 255
        wait_until(lambda: not is_alive(pid))
