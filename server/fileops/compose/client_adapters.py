"""The adapters of one LSP client, as the composition root puts them together."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fileops.core.notebook.editor_cells import is_shown_as
from fileops.core.text import decode, detect_format
from fileops.lsp.corrector import LspCorrector
from fileops.lsp.prompts import LspCommandApprover
from fileops.model.errors import CommandNotStarted
from fileops.rpc.decode import InvalidParams
from fileops.service.plugins.catalog import processor_names, validator_names
from fileops.service.plugins.registry import register_installed
from fileops.shell.process import ShellExecutor

if TYPE_CHECKING:
    from fileops.fs.overlay.filesystem import OverlayFileSystem
    from fileops.fs.remote.router import RouterFileSystem
    from fileops.lsp.server import ClientContext
    from fileops.model.files import Snapshot
    from fileops.model.settings import Settings
    from fileops.ports import CommandApprover, Corrector, Executor, ExecutorChoice
    from fileops.service.hub.names import SessionNames


def version_of(files: "OverlayFileSystem", editor: str) -> "Callable[[str, Snapshot], int | None]":
    """Return what finds the version of an editor's document at a path, if the document has the text of a snapshot."""

    def find(path: str, snapshot: "Snapshot") -> int | None:
        for document in files.last_open_at(path):
            if document.editor == editor and document.doubt is None:
                content = decode(snapshot.data, detect_format(snapshot.data))
                if is_shown_as(content, document.text.text):
                    return document.version
        return None

    return find


def check_plugins(settings: "Settings") -> None:
    """Check the processors and validators that the client names. Raises: InvalidParams, if one is not installed."""
    if not (settings.processors or settings.validators):
        return

    register_installed()
    for kind, names, there in (
        ("processor", settings.processors, processor_names()),
        ("validator", settings.validators, validator_names()),
    ):
        for index, name in enumerate(names):
            if name not in there:
                place = f".initializationOptions.{kind}s[{index}]"
                raise InvalidParams(f"no such {kind} is installed; there are: {', '.join(there) or 'none'}", place)


def corrector_of(context: "ClientContext", names: "SessionNames") -> "Corrector | None":
    if not context.settings.correction:
        return None

    return LspCorrector(context.client, names, timeout_s=context.settings.correction_timeout_s)


def command_approver_of(context: "ClientContext", names: "SessionNames") -> "CommandApprover | None":
    """Return None if the client does not ask about commands."""
    if not context.settings.bash:
        return None

    return LspCommandApprover(
        context.client,
        names,
        timeout_s=context.settings.approval_timeout_s,
        use_message_fallback=context.settings.approval_fallback == "message",
    )


def executors(remote: "RouterFileSystem | None", own: "Executor | None" = None) -> "ExecutorChoice":
    """Choose where commands run: on this host, or on the host from which the working directory is mapped.

    Args: own: replaces this host's shell.
    """

    def executor_at(cwd: str) -> "tuple[Executor, str]":
        if remote is None or not remote.is_remote(cwd):
            return own or ShellExecutor(), cwd
        host = remote.ssh_host(cwd)
        if host is None:
            raise CommandNotStarted(reason="no commands can be run in this filesystem")
        command, remote_cwd = host
        return ShellExecutor(command), remote_cwd

    return executor_at


def warner_of(context: "ClientContext") -> "Callable[[str], None]":
    """Return what shows a warning to the client's user, from any thread. Create it on the loop."""
    import asyncio
    from contextlib import suppress

    loop, client = asyncio.get_running_loop(), context.client

    def warn(sentence: str) -> None:
        with suppress(RuntimeError):  # the loop is closed, so the client is gone
            loop.call_soon_threadsafe(client.warn, sentence)

    return warn
