"""The daemon started elsewhere (docs/guide/remote.md): over SSH, and behind a process that passes its pipes on."""

import shlex
import sys
from pathlib import Path

import pytest

from fileops_client import FileOpsClient
from support.patience import PATIENCE_S
from support.sshd import Sshd

DAEMON = shlex.join([sys.executable, "-m", "fileops"])
PIPED = ["sh", "-c", f"cat | {DAEMON} | cat"]  # what `docker exec -i` does with the three streams


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\ntwo \xc3\xa9\r\n")
    return path


async def works(command: list[str], file: Path) -> None:
    async with FileOpsClient.start(command, root=file.parent) as client:
        assert (await client.read(file)).ok
        assert (await client.edit(file, "one", "eins → \u2028")).ok
        with client.events("fileops/didBecomeStale") as stale:
            file.write_text("foreign\n")
            assert (await stale.next(timeout_s=PATIENCE_S)).file_path == str(file)
        assert (await client.edit(file, "foreign", "own")).code == "modified_externally"
        assert await client.close() == 0


async def test_daemon_over_ssh_serves_a_client(sshd: Sshd, file: Path) -> None:
    await works([*sshd.ssh, "-T", DAEMON], file)


async def test_daemon_below_a_process_that_forwards_its_pipes_serves_a_client(file: Path) -> None:
    await works(PIPED, file)


async def test_daemon_over_ssh_ends_with_its_connection(sshd: Sshd, file: Path) -> None:
    async with FileOpsClient.start([*sshd.ssh, "-T", DAEMON], root=file.parent) as client:
        await client.read(file)
        sshd.cut()
        with pytest.raises(ConnectionError):
            await client.read(file)
