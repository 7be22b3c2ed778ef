"""The three ways to open a client: as the parent of a daemon, attached to a shared one, or serving itself."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Self, Unpack

from fileops_client import _attached, _in_process
from fileops_client._attached import Role
from fileops_client._opening import Opening
from fileops_client._process import DEFAULT_COMMAND, ChildProcess, require_words
from fileops_client._signatures import spell_out
from fileops_client._transport import Launch
from fileops_client.options import Setup, SetupOptions
from fileops_client.requests.sender import FilePath, path_of

if TYPE_CHECKING:
    from fileops_client._in_process import (
        Approver,
        Executor,
        FileSystem,
        ImageDetector,
        ProcessorPlugin,
        StrategyPlugin,
        ValidatorPlugin,
    )

NAME = "fileops-client"


class StartMethods(ABC):
    """Class methods that open a client. Each returns an Opening, to be awaited or entered."""

    @abstractmethod
    def __init__(self, launch: Launch, setup: Setup, *, parent_pid: int | None, name: str = NAME) -> None:
        """Args: parent_pid: of the process whose end ends the server. name: of this program."""

    @abstractmethod
    async def _begin(self) -> None:
        """Launch the server and initialize it."""

    @abstractmethod
    async def close(self) -> int | None:
        """End the connection. Return the exit code of a child process."""

    @classmethod
    @spell_out(SetupOptions, Setup)
    def start(
        cls,
        command: Sequence[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: FilePath | None = None,
        on_stderr: Callable[[str], None] | None = None,
        **setup: Unpack[SetupOptions],
    ) -> Opening[Self]:
        """Start a private daemon as a child process, which reads and writes in `root` or `roots` only.

        Args:
            command: what starts the server; by default `python -m fileops` with this interpreter.
            env: variables added to this process's environment.
            cwd: the folder in which it starts; by default this program's.
            on_stderr: called with each line of the daemon's log.
            setup: the parameters of SetupOptions, `root` and `timeout_s` among them.

        Opening raises ServerMissing if the server cannot be started, and what `request` raises.
        Raises: ValueError without `root` and `roots`.
        """
        require_words(command)
        chosen = Setup(**setup).require_folders()
        chosen = chosen.on_this_machine() if command is None else chosen.on_any_machine()
        launch = partial(
            ChildProcess.start,
            DEFAULT_COMMAND if command is None else command,
            cwd=None if cwd is None else path_of(cwd),
            env=env,
            on_stderr=on_stderr,
        )
        # Another command may run on another machine, where our pid means nothing.
        return cls._opening(launch, chosen, parent_pid=os.getpid() if command is None else None)

    @classmethod
    @spell_out(SetupOptions, Setup)
    async def open(
        cls,
        command: Sequence[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: FilePath | None = None,
        on_stderr: Callable[[str], None] | None = None,
        **setup: Unpack[SetupOptions],
    ) -> Self:
        """Start a private daemon as a child process, as `start`: the same as `await FileOpsClient.start(...)`."""
        return await cls.start(command, env=env, cwd=cwd, on_stderr=on_stderr, **setup)

    @classmethod
    @spell_out(SetupOptions, Setup)
    def attach(
        cls,
        *,
        socket: FilePath | None = None,
        role: Role = "agent",
        host: str = NAME,
        session: str | None = None,
        command: Sequence[str] | None = None,
        **setup: Unpack[SetupOptions],
    ) -> Opening[Self]:
        """Attach to the daemon that all agents and editors of the user share, and start it if none runs.

        Args:
            socket: the path of its socket; by default $FILEOPS_SOCKET or the user's own place.
            role: an "editor" has open documents, decides on edits and runs commands; an "agent" does not.
            host: the program's name, which begins the names of its sessions.
            session: a name under which a program that attaches again continues with what it has read.
            command: what starts the server; by default `python -m fileops` with this interpreter.
            setup: the parameters of SetupOptions, `root` and `timeout_s` among them.

        Opening raises AttachRefused, ServerMissing, and what `request` raises.
        Raises: ValueError if an agent has a reviewer, which would never be asked.
        """
        require_words(command)
        chosen = Setup(**setup).on_this_machine()
        chosen = chosen.of_agent() if role == "agent" else chosen.of_editor()
        launch = partial(
            _attached.launch,
            socket=None if socket is None else path_of(socket),
            role=role,
            host=host,
            session=session,
            roots=chosen.folders,
            command=command,
        )
        return cls._opening(launch, chosen, parent_pid=os.getpid(), name=host)

    @classmethod
    @spell_out(SetupOptions, Setup)
    def in_process(
        cls,
        *,
        filesystem: "FileSystem | None" = None,
        strategies: "Mapping[str, StrategyPlugin] | None" = None,
        processors: "Mapping[str, ProcessorPlugin] | None" = None,
        validators: "Mapping[str, ValidatorPlugin] | None" = None,
        executor: "Executor | None" = None,
        image_detector: "ImageDetector | None" = None,
        approver: "Approver | None" = None,
        **setup: Unpack[SetupOptions],
    ) -> Opening[Self]:
        """Serve from this process, without a daemon: for libraries, notebooks and tests. Needs fileops-server.

        Args:
            filesystem: your own object instead of the server's, as `fileops.ports` describes it.
            strategies: functions (text, old_string, new_string) -> places (start, end, new text), by name.
            processors: functions (file_path, before, after) -> another text or None; all of them run, in order.
            validators: functions (file_path, before, after) -> reason or None; all of them run.
            executor: as `filesystem`.
            image_detector: as `filesystem`.
            approver: as `filesystem`.
            setup: the parameters of SetupOptions, `root` and `timeout_s` among them.

        Opening raises ValueError if a name is taken by another function.
        Raises: ValueError without `root`, `roots` and `filesystem`.
        """
        chosen = Setup(**setup)
        chosen = chosen if filesystem is not None else chosen.require_folders()
        launch = partial(
            _in_process.launch,
            filesystem=filesystem,
            strategies=strategies,
            processors=processors,
            validators=validators,
            executor=executor,
            image_detector=image_detector,
            approver=approver,
        )
        return cls._opening(launch, chosen.on_this_machine(), parent_pid=None)

    @classmethod
    def _opening(cls, launch: Launch, setup: Setup, *, parent_pid: int | None, name: str = NAME) -> Opening[Self]:
        async def begin() -> Self:
            client = cls(launch, setup, parent_pid=parent_pid, name=name)
            await client._begin()
            return client

        return Opening(begin)
