"""The commands `status` and `daemon --detach`: questions to the shared daemon about itself."""

import errno
import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from fileops.attach.address import Address, AttachRefused, find_address
from fileops.attach.handshake import MAX_ANSWER_BYTES, DaemonAnswer, control_line
from fileops.attach.starter import ATTACH_S, NotAttached, ask, attach, connect, is_served, listening_pid
from fileops.platform.page import print_text, say

_WHY_PRIVATE = {  # by the reason of a refusal
    "attach": "its version and the daemon's do not fit",
    "uid": "it is another user's",
    "confined": "it or the daemon is in a sandbox",
    "full": "the daemon has no room for it",
    "exhausted": "the daemon had no resources left",
    "retiring": "the daemon was ending",
    "silent": "the daemon did not answer in time",
}
ANSWER_S = 2.0
DETACH_S = 60.0  # long, for busy machines: a script needs the daemon
TERMINATE_S = 5.0  # then the daemon is killed
_PAUSE_S = 0.05
FAILED = 1


def status(socket_path: str | None, *, as_json: bool) -> int:
    """Print who is attached; return 0, or 1 if no daemon answers."""
    address = _address(socket_path)
    if address is None:
        return FAILED
    try:
        answer = _answer(address, control_line("status", max_bytes=MAX_ANSWER_BYTES))
    except (AttachRefused, NotAttached) as fault:
        described: Mapping[str, Any] = {
            "running": False,
            "socket": address.socket,
            "error": str(fault),
            **_record(address),
        }
        text = str(fault)
    else:
        if answer is None:
            described = {"running": False, "socket": address.socket}
            text = f"No shared daemon is running at {address.socket}."
        elif answer.is_ok:
            described = {"running": True, **{key: value for key, value in answer.fields.items() if key != "ok"}}
            text = table(described)
        else:
            described = {"running": True, "socket": address.socket, "error": answer.message, **_record(address)}
            text = answer.message
    if as_json:
        sys.stdout.write(json.dumps(described, indent=2) + "\n")
    else:
        print_text(text)
    return 0 if "connections" in described else FAILED


def list_guarded_sessions() -> list[Mapping[str, Any]] | None:
    """Return the sessions that are guarded now, as `status --json` has them; None if no daemon answers."""
    address = _address(None)
    try:
        answer = None if address is None else _answer(address, control_line("status", max_bytes=MAX_ANSWER_BYTES))
    except (AttachRefused, NotAttached):
        answer = None
    return answer.fields.get("guarded", []) if answer is not None and answer.is_ok else None


def stop(socket_path: str | None, *, now: bool) -> int:
    """End the daemon when its last client leaves, or now; return 0 if it has ended or will end."""
    address = _address(socket_path)
    if address is None:
        return FAILED
    try:
        if now:
            return _stop_now(address)
        answer = _answer(address, control_line("stop"))
    except (AttachRefused, NotAttached) as fault:
        return _report_failure(str(fault))
    if answer is None:
        return 0
    if not answer.is_ok:
        return _report_failure(answer.message)
    if n_connections := answer.fields.get("n_connections"):
        left = "client has" if n_connections == 1 else f"{n_connections} clients have"
        print_text(f"The shared daemon ends when its {left} left.")
    return 0


def detach(socket_path: str | None, idle_s: float, options: Sequence[str] = ()) -> int:
    """Start a daemon if none runs, and wait until it answers: return 0, or 1 if none does.

    Args: options: further options for the daemon. With options it is an error if one already runs.
    """
    address = _address(socket_path)
    if address is None:
        return FAILED
    try:
        if options and is_served(address):
            return _report_failure(
                "A shared daemon runs already. End it with `fileops-server status --stop`, then start it with these."
            )
        line = control_line("status", max_bytes=MAX_ANSWER_BYTES)
        attached = attach(address, line, idle_s=idle_s, options=options, within_s=DETACH_S)
    except (AttachRefused, NotAttached) as fault:
        return _report_failure(str(fault))
    attached.connection.close()
    return 0 if attached.answer.is_ok else _report_failure(attached.answer.message)


def _answer(address: Address, line: bytes) -> DaemonAnswer | None:
    """Return the daemon's answer; None if no daemon runs. Raises: NotAttached, AttachRefused."""
    attached = ask(address, line, ANSWER_S)
    if attached is None:
        return None
    attached.connection.close()
    return attached.answer


def _address(socket_path: str | None) -> Address | None:
    try:
        return find_address(socket_path, os.environ)
    except AttachRefused as refused:
        _report_failure(str(refused))
        return None


def _report_failure(sentence: str) -> int:
    say(f"fileops-server: {sentence}")
    return FAILED


def _record(address: Address) -> dict[str, Any]:
    """Return what a daemon that does not answer wrote when it started."""
    try:
        with open(address.record, encoding="ascii") as file:
            record: dict[str, Any] = json.load(file)
            return {key: record[key] for key in ("pid", "version", "attach")}
    except (OSError, ValueError, KeyError):
        return {}


# --- ending it at once --------------------------------------------------------------------------------------------


def _stop_now(address: Address) -> int:
    """Terminate the daemon, or kill it if it does not end. Raises: NotAttached, AttachRefused."""
    pid = _daemon_of(address)
    if pid is None:
        return 0
    with suppress(ProcessLookupError):
        process = Process(pid)
        for number in (signal.SIGTERM, signal.SIGKILL):
            process.send(number)
            if process.ends_within(TERMINATE_S):
                return 0
        return _report_failure(f"The shared daemon, process {pid}, could not be ended.")
    return 0


def _daemon_of(address: Address) -> int | None:
    """Return the process of the daemon; None if no process listens. Waits for a daemon that starts.

    The kernel knows which process listens, even if the daemon hangs and cannot answer. But until a daemon runs, that is
    its starter or systemd. So the record, which a daemon writes as soon as it listens, has to name the same process.
    Raises: NotAttached, AttachRefused.
    """
    deadline = time.monotonic() + ATTACH_S
    while (connection := connect(address, ANSWER_S)) is not None:
        with connection:
            listening = listening_pid(connection)
        pid = _record(address).get("pid")
        if isinstance(pid, int) and listening in {pid, None}:
            return pid
        if time.monotonic() > deadline:
            raise NotAttached(
                f"A process listens at {address.socket}{f' ({listening})' if listening else ''}, but {address.record} "
                "does not say that it is the shared daemon. Nothing was ended. If it is, end it by its number."
            )
        time.sleep(_PAUSE_S)
    return None


class Process:
    """Another process. Where the system has process descriptors, its id cannot be reused by another process."""

    def __init__(self, pid: int) -> None:
        """Raises: ProcessLookupError."""
        self._pid = pid
        self._pidfd = _pidfd_of(pid)

    def send(self, number: signal.Signals) -> None:
        """Raises: ProcessLookupError."""
        if sys.platform == "linux" and self._pidfd is not None:
            signal.pidfd_send_signal(self._pidfd, number)
        else:
            os.kill(self._pid, number)

    def ends_within(self, timeout_s: float) -> bool:
        if self._pidfd is not None:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)  # readable when the process has ended
            return bool(poll.poll(timeout_s * 1000))
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                os.kill(self._pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(_PAUSE_S)
        return False


def _pidfd_of(pid: int) -> int | None:
    """Return a descriptor of the process; None where the system or a sandbox has none. Raises: ProcessLookupError."""
    if sys.platform == "linux":
        try:
            return os.pidfd_open(pid)
        except OSError as error:
            if error.errno not in {errno.ENOSYS, errno.EPERM}:
                raise
    os.kill(pid, 0)
    return None


# --- for people ---------------------------------------------------------------------------------------------------


def table(described: Mapping[str, Any]) -> str:
    """Return what `status` prints for a person."""
    lines = [
        f"fileops-server {described['version']} runs as process {described['pid']} since {_age(described['uptime_s'])}",
        f"socket  {described['socket']}",
        f"log     {described['log'] or 'stderr'}",
    ]
    clients: list[Mapping[str, Any]] = described["connections"]
    n_clients = described.get("n_connections", len(clients))
    lines.append(f"{n_clients} clients" if n_clients != 1 else "1 client")
    for client in clients:
        label, labels = client["label"], client["labels"]
        lines.append(f"  {label}  {client['role']}, {client['protocol']}, process {client['pid']}")
        lines += [f"    in {root}" for root in client["roots"]] + _more_lines(client, "roots", "folders")
        lines += [f"    session {session}" for session in labels if labels != [label]]
        lines += _more_lines(client, "labels", "sessions")
    lines += _more_lines(described, "connections", "clients")
    for client in described["private"]:
        why = _WHY_PRIVATE.get(client["reason"], client["reason"])
        lines.append(f"  {client['host']}  process {client['pid']}, serves itself, because {why}")
    lines += format_guarded_sessions(described.get("guarded", []))
    lines += _language_server_lines(described.get("language_servers", []))
    lines += _waiting_lines(described.get("reviews", []), described.get("n_reviews", 0))
    for journal in described.get("unsettled", []):
        files = f"{journal['n_files']} files" if journal["n_files"] > 1 else "a file"
        lines += [
            f"{files} of an interrupted write cannot be put right yet: {printable(journal['reason'])}",
            f"    {printable(journal['journal'])} says what they were. To leave them as they are, remove it.",
        ]
    return "\n".join(lines)


def _more_lines(described: Mapping[str, Any], key: str, noun: str) -> list[str]:
    """Return a line that says how many items were left out, because the daemon's answer was too long."""
    n_more = described.get(f"n_{key}", 0) - len(described[key])
    return [f"    and {n_more} more {noun}"] if n_more > 0 else []


def format_guarded_sessions(guarded: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines for the sessions whose host's own tools are guarded. A daemon of an older version names none."""
    if not guarded:
        return []
    lines = [f"{len(guarded)} sessions are guarded by hooks" if len(guarded) != 1 else "1 session is guarded by hooks"]
    for session in guarded:
        age = _age(max(0.0, time.time() - session["guarded_since"]))
        tools = "with" if session["has_tools"] else "without"
        facts = f"{session['mode']}, process {session['pid']}, for {age}, {tools} fileops-server's own tools"
        lines += [f"  {printable(session['label'])}  {facts}", f"    in {printable(session['cwd'])}"]
    return lines


def _language_server_lines(servers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each language server that was started. A daemon of an older version names none."""
    if not servers:
        return []
    lines = [f"{len(servers)} language servers" if len(servers) != 1 else "1 language server"]
    for server in servers:
        facts = [server["state"]]
        if server["pid"] is not None:
            facts.append(f"process {server['pid']}")
        if server["memory_bytes"] is not None:
            facts.append(f"{server['memory_bytes'] / 1e6:.0f} MB")
        if server["n_ends"]:
            times = "once" if server["n_ends"] == 1 else f"{server['n_ends']} times"
            facts.append(f"ended by itself {times} in the last 10 minutes")
        lines += [f"  {printable(server['name'])}  {', '.join(facts)}", f"    in {printable(server['root'])}"]
    return lines


def _waiting_lines(reviews: Sequence[Mapping[str, Any]], n_reviews: int) -> list[str]:
    """Return a line for each edit that waits for a decision. A daemon of an older version names none."""
    if not n_reviews:
        return []
    lines = [f"{n_reviews} edits wait for a decision" if n_reviews != 1 else "1 edit waits for a decision"]
    lines += [
        f"  {review['review_id']}  {review['label']}  {printable(review['file_path'])}  "
        f"for {_age(max(0.0, time.time() - review['asked_at']))}"
        for review in reviews
    ]
    return [*lines, f"  and {n_reviews - len(reviews)} more"] if n_reviews > len(reviews) else lines


def printable(text: str) -> str:
    """Return the text without characters that control a terminal."""
    return "".join(char if char.isprintable() else f"<{ord(char):02x}>" for char in text)


def _age(seconds: float) -> str:
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    return f"{hours} h" if hours else f"{minutes} min" if minutes else f"{int(seconds)} s"
