"""An OpenSSH server of our own on a loopback port, with its own keys, for the user who runs the tests."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.patience import PATIENCE_S, wait_until

SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server")


@dataclass(frozen=True, slots=True)
class Sshd:
    process: "subprocess.Popen[bytes]"
    port: int
    key: str
    known_hosts: str
    user: str

    @property
    def options(self) -> dict[str, Any]:
        """Of an sftp filesystem."""
        return {"client_keys": [self.key], "known_hosts": self.known_hosts, "config": [], "agent_path": None}

    def url(self, folder: str) -> str:
        return f"sftp://{self.user}@127.0.0.1:{self.port}{folder}"

    @property
    def ssh(self) -> list[str]:
        """The command that runs another one there."""
        return [
            "ssh", "-F", "none", "-p", str(self.port), "-i", self.key, "-o", "IdentitiesOnly=yes",
            "-o", "BatchMode=yes",
            "-o", f"UserKnownHostsFile={self.known_hosts}", f"{self.user}@127.0.0.1",
        ]  # fmt: skip

    def sessions(self) -> list[int]:
        """Process ids of the connections that are open."""
        return children_of(self.process.pid)

    def holders(self) -> list[int]:
        """Processes of sshd's own that hold the connections; for an ordinary user the inner one does."""
        own = [pid for one in self.sessions() for pid in (one, *descendants_of(one))]
        return [pid for pid in own if Path(f"/proc/{pid}/comm").read_text().startswith("sshd")]

    def cut(self) -> None:
        """End all connections, as a dying server does: without a word. Who was connected may connect again at once."""
        ended = self.sessions()
        for session in ended:
            for pid in [*descendants_of(session), session]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not set(ended) & set(self.sessions()))


def children_of(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            children += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return [child for child in children if is_alive(child)]


def descendants_of(pid: int) -> list[int]:
    return [one for child in children_of(pid) for one in (*descendants_of(child), child)]


def is_alive(pid: int) -> bool:
    """A zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def _binary() -> str:
    path = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if path is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("no OpenSSH server here (Debian: apt install openssh-server openssh-client)")
    return path


@contextlib.contextmanager
def running(folder: Path, subsystem: Callable[[str], str] = str, *, max_sessions: int = 10) -> Generator[Sshd]:
    """Skips the test where there is no sshd. subsystem: the SFTP command to run in place of the one that is given.

    max_sessions: channels that one connection may have open at once.
    """
    binary = _binary()
    host_key, key = folder / "host_key", folder / "key"
    for path in (host_key, key):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    shutil.copy(f"{key}.pub", folder / "authorized")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # it will not start as root without
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    sftp = next((path for path in SFTP_SERVERS if os.path.exists(path)), "internal-sftp")
    config = {
        "Port": port, "ListenAddress": "127.0.0.1", "HostKey": host_key, "AuthorizedKeysFile": folder / "authorized",
        "PidFile": "none", "StrictModes": "no", "UsePAM": "no", "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no", "PermitRootLogin": "yes", "MaxStartups": "100", "PrintMotd": "no",
        "Ciphers": "aes128-gcm@openssh.com",  # asyncssh takes half of the time for it
        "LogLevel": "ERROR", "MaxSessions": max_sessions, "Subsystem": f"sftp {subsystem(sftp)}",
        # The user's shell must not run the user's start-up files: what they start may not outlive being killed.
        "SetEnv": f"HOME={folder}",
    }  # fmt: skip
    (folder / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in config.items()))
    public = Path(f"{host_key}.pub").read_text().split()[:2]
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {' '.join(public)}\n")
    process = subprocess.Popen(
        [binary, "-D", "-e", "-f", str(folder / "sshd_config")], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    sshd = Sshd(process, port, str(key), str(folder / "known_hosts"), getpass.getuser())
    try:
        wait_until(lambda: process.poll() is not None or _answers(port))
        if process.poll() is not None:
            assert process.stderr is not None
            pytest.skip(f"sshd does not start here: {process.stderr.read().decode(errors='replace')[:500]}")
        yield sshd
    finally:
        sshd.cut()
        process.terminate()
        process.wait(PATIENCE_S)
        assert process.stderr is not None
        process.stderr.close()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
