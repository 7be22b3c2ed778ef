"""The options and commands of the command line."""

import argparse
import difflib
import functools
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from fileops import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

ABOUT = """\
A daemon through which AI agents and people edit the same files at the same time.

Without a command it serves JSON-RPC 2.0 in LSP frames on stdin and stdout, as language servers do; an editor or an
agent starts it. `demo` shows its purpose in a minute."""

ABOUT_MCP = """\
Serve the tools Read, Edit and MultiEdit over the Model Context Protocol on stdin and stdout. An agent's host starts it;
`mcp config HOST` prints what the host's configuration needs."""

ABOUT_MCP_CONFIG = """\
Print what a host's configuration needs. With --write, merge it into the host's files: nothing in them is removed,
comments stay, and you see the change first. It is written when you confirm it on the terminal, or with --yes. Then you
are offered the language servers that are installed, unless you have named some: they tell an agent what its edit broke.
With --remove, what --write added is removed. The files are your own, unless you give --project: then they are those
that everyone on the project shares, and nothing changes for people who do not have the program."""

MCP_HOSTS = (
    "claude", "claude-plugin", "codex", "copilot", "cursor", "opencode", "vscode", "zed", "antigravity", "gemini",
)  # fmt: skip

HOOK_HOSTS = ("claude", "claude-plugin", "codex", "copilot", "cursor", "opencode", "antigravity", "gemini")
MODES = ("companion", "tools")

# The tools that `mcp --tools` can add, by the name that the option uses for them.
FURTHER_TOOLS = {
    "+write": ("Write",), "+undo": ("Undo",), "+changes": ("ApplyChanges",), "+patch": ("ApplyPatch",),
    "+notebook": ("NotebookEdit", "NotebookRead"),
}  # fmt: skip

# What `mcp` does without its options; the daemon is sent only what differs.


class Choice(NamedTuple):
    """An option of `mcp` with a fixed set of values. The first is the default.

    Its type is in McpOptions, or in Settings if every client can set it.
    """

    name: str
    values: tuple[str, ...]
    help: str
    metavar: str | None = None  # if the values are too long for a line of the usage
    sent: Mapping[str, object] = {}  # the value in Settings, if it differs


MCP_CHOICES = (
    Choice(
        "approve",
        ("person", "ask", "host", "never"),
        "who approves an edit: the person, if the edit needs it (default); the person, for every edit; the host, "
        "which asks before it calls; or nobody",
    ),
    Choice(
        "protected",
        ("ask", "allow"),
        "if the host cannot ask the person about a protected file such as .env or .git/config: refuse the edit "
        "(default), or apply it",
    ),
    Choice(
        "freshness",
        ("mtime", "content", "relevant"),
        "when to refuse an edit because its file changed since it was read: if its time or size differs (default), "
        "if its content differs, or only if a change may matter to the edit",
    ),
    Choice(
        "notebooks",
        ("cells", "refuse", "text"),
        "how Jupyter notebooks are read and edited: by cells (default); as text, and not edited; or as text",
    ),
    Choice("confine", ("edits", "all"), "what to refuse outside the roots: edits (default), or edits and reads"),
    Choice("notices", ("on", "off"), "tell the agent what changed in the files that it has read (default: on)"),
    Choice(
        "record_titles",
        ("on", "off"),
        "keep the beginnings of prompts as titles in the record, if this host is the first client of the shared daemon "
        "(default: on)",
        sent={"off": False},
    ),
    Choice(
        "suggestions",
        ("on", "off"),
        "after a failed edit, suggest what to send instead, and show the lines around an unread place (default: on)",
    ),
    Choice(
        "correction",
        ("on", "off"),
        "apply an edit whose text slightly differs from the file (copied line numbers, indentation, escapes, "
        "look-alikes) if exactly one place can be meant, and say what was taken as meant (default: on)",
        sent={"on": True, "off": False},
    ),
    Choice(
        "answers",
        ("lean", "full"),
        "what results tell the model: the changed lines' numbers, and their text only where it may not be what the "
        "model expects (lean, default), or the specified texts (full)",
    ),
    Choice(
        "repeated_reads",
        ("full", "short"),
        "the answer to a read of lines that the session has read and that have not changed: the lines again (default), "
        "or a sentence; only for a host that reports by its hooks when its model forgets",
    ),
    Choice(
        "read_reminder",
        ("on", "off"),
        "end the answer to a read with the reminder to consider whether the file looks malicious (default: on)",
    ),
    Choice(
        "show_diff",
        ("auto", "on", "off"),
        "show the first lines of the diff of each applied edit, for the person: if answers are full (auto, default), "
        "always, or never",
    ),
    Choice(
        "diagnostics",
        ("on", "off"),
        "after an edit, report the problems that it introduced, if an editor or a language server knows (default: on)",
    ),
    Choice(
        "diagnostics_severity",
        ("warning", "error", "information", "hint"),
        "the least severe problems to report: error, warning (default), information or hint",
        "LEVEL",
    ),
    Choice(
        "format",
        ("off", "changed"),
        "format only the lines that an edit changes, with the first language server that can: off (default) or changed",
    ),
)

ABOUT_REVIEW = """\
Show the edits of agents that wait for a decision in this folder, and decide. While the full screen is open, edits that
need a person's approval wait for it. `--list`, `accept` and `reject` only look and decide: no edit waits for them."""

ABOUT_LOG = """\
The daemon records every change to the text files of a folder, with its author: an agent through its tools, a program
that an agent ran, you in an editor, or another program. The newest come first: one line for each turn of an agent, each
undo and each git branch switch, followed by its files."""

ABOUT_IDS = """\
Each line begins with the id of the change that wrote it: `fileops-server log ID` shows that change."""

ABOUT_STATUS = """\
The exit status is 0 if the daemon answers, else 1. With --stop it is 0 if no daemon runs afterwards, or if it will end
when its last client leaves."""

ABOUT_DIFF = """\
Only the changes of the named author are shown, not what others wrote in the same files. They include what you have kept
or committed; `changes --diff` shows what you have not."""

ABOUT_UNDO = """\
Before anything changes, you see what would be done and are asked. Text that others have changed since is left alone
and listed. PATH, --all, --turn, --agent and --since undo what you have neither kept nor committed; of a turn or agent,
--kept undoes the rest as well. A change, command or undo is undone as a whole. An undo is recorded too, and `redo`
takes it back. Exit status 3: done, but something was left."""

ABOUT_REDO = """\
Before anything changes, you see what would be done and are asked. What was written since stays, as with an undo. A
redo can be undone by its own id."""

ABOUT_CHANGES = """\
Edits that wait are not written yet: accept or reject them. Changes that you have not kept are in the files: keep or
undo them."""

ABOUT_KEEP = """\
Changes by agents count as new until a person keeps them. A keep changes no file, and you can take it back."""

FOR_PROGRAMS = ("attach", "daemon")  # started by programs and scripts, so the list for people leaves them out

ABOUT_PROGRAMS = """\
Two more commands are for programs: `attach` connects stdin and stdout to the shared daemon, and `daemon` runs it. Each
has its own --help."""

PROGRAM = "fileops-server"

# Commands of earlier versions, and what to write instead.
FORMER_COMMANDS = {"show": "log ID", "rewind": "undo", "stop": "status --stop"}

LOG_LEVELS = ("debug", "info", "warning", "error")


class _Paragraphs(argparse.HelpFormatter):
    """Fits each paragraph of a description to the terminal. A paragraph with indented lines stays as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        fitted = (
            part if "\n " in part else super(_Paragraphs, self)._fill_text(part, width, indent) for part in paragraphs
        )
        return "\n\n".join(fitted)


class _ArgumentParser(argparse.ArgumentParser):
    """Suggests the command that was most likely meant if one is unknown, as argparse does from Python 3.14 on."""

    def error(self, message: str) -> NoReturn:
        given = re.match(
            r"argument (?P<name>.+): invalid choice: '(?P<value>.+?)' \(choose from (?P<choices>.+)\)", message
        )
        if given:
            former = FORMER_COMMANDS if self.prog == PROGRAM else {}
            choices = [*re.findall(r"'(.+?)'", given["choices"]), *former]
            near = difflib.get_close_matches(given["value"], choices, n=1)
            meant = former.get(near[0], near[0]) if near else None
            what = "there is no command" if given["name"] == "COMMAND" else f"{given['name']} cannot be"
            message = f"{what} {given['value']}. Did you mean {meant}?" if meant else message
        super().error(message)

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        """Write to stdout without argparse's `except OSError: pass`, so that the status says what was not written."""
        if file is sys.stdout and file is not None:
            file.write(message)
        else:
            super()._print_message(message, file)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments with the command's own usage, and suggest the option that was meant."""
        found, unknown = super().parse_known_args(args, namespace)
        option = next((word for word in unknown if word.startswith("--")), "").partition("=")[0]
        if near := difflib.get_close_matches(option, self._option_string_actions, n=1):
            self.error(f"there is no option {option}. Did you mean {near[0]}?")
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def commands(self) -> list[str]:
        """Returns the names of all commands, including those that the help does not list."""
        choices = next((action.choices for action in self._actions if action.dest == "command" and action.choices), ())
        return list(map(str, choices))


def commands_for_people() -> list[str]:
    """Returns the commands that a person has to learn: all except those that programs start."""
    return [name for name in _parser().commands() if name not in FOR_PROGRAMS]


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    return _parser()


@functools.cache  # a program that runs several commands, as tests do, makes its hundreds of options once
def _parser() -> _ArgumentParser:
    main = _ArgumentParser(prog=PROGRAM, description=ABOUT, epilog=ABOUT_PROGRAMS, formatter_class=_Paragraphs)
    main.add_argument("--version", action="version", version=f"fileops-server {__version__}")
    main.add_argument("--log-file", metavar="FILE", help="write the log to FILE instead of stderr")
    main.add_argument("--log-level", choices=LOG_LEVELS, default="warning", help="default: warning")
    main.add_argument(
        "--shared", action="store_true", help="for editors: use the daemon that all agents and editors share"
    )
    _add_plugin_options(main, [])
    _add_socket_option(main, None)
    _add_host_option(main, None)
    _add_stdio_option(main)
    commands = main.add_subparsers(
        dest="command", metavar="COMMAND", prog=main.prog, parser_class=_ArgumentParser
    )  # else it lays out a help text
    demo = commands.add_parser(
        "demo",
        help="show what the daemon does",
        description="Start the daemon, then read, edit, be refused, and read again. Your own files do not change.",
    )
    demo.add_argument(
        "directory",
        metavar="DIRECTORY",
        nargs="?",
        help="work on a copy of this folder's text files instead of an example",
    )
    mcp = commands.add_parser(
        "mcp",
        help="serve agents over the Model Context Protocol",
        description=ABOUT_MCP,
        formatter_class=_Paragraphs,
    )
    _add_mcp_options(mcp)
    _add_daemon_commands(commands.add_parser)
    _add_review_commands(commands.add_parser)
    _add_record_commands(commands.add_parser)
    schema = commands.add_parser(
        "schema",
        help="print the protocol as JSON Schema",
        description="Print the schema of every message, in both directions: JSON Schema 2020-12.",
    )
    schema.add_argument("--openrpc", action="store_true", help="print an OpenRPC document instead")
    return main


def _add_socket_option(parser: argparse.ArgumentParser, default: str | None = argparse.SUPPRESS) -> None:
    """Args: default: of a command it would replace what the option before the command says."""
    parser.add_argument(
        "--socket",
        metavar="PATH",
        default=default,
        help="the shared daemon's socket (default: $FILEOPS_SOCKET, else a private folder)",
    )


def _add_plugin_options(parser: argparse.ArgumentParser, default: list[str] | str) -> None:
    for name in ("strategy", "processor", "validator"):
        parser.add_argument(
            f"--{name}",
            metavar="NAME=MODULE:FUNCTION",
            action="append",
            default=default,
            dest=f"{name}_functions",
            help=f"a {name} that no package installs (docs/guide/plugins.md); may be given several times",
        )


def _add_host_option(parser: argparse.ArgumentParser, default: str | None = argparse.SUPPRESS) -> None:
    parser.add_argument(
        "--host", metavar="NAME", default=default, help="the program that is served (default: the process that asks)"
    )


def _add_stdio_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stdio", action="store_true", help="has no effect: stdin and stdout are always used; some editors pass it"
    )


def _add_daemon_commands(add_command: "Callable[..., argparse.ArgumentParser]") -> None:
    attach = add_command(
        "attach",
        description="Connect stdin and stdout to the shared daemon, in LSP frames. If none runs, one is started.",
    )
    attach.add_argument("--role", choices=("editor", "agent"), default="agent", help="default: agent")
    _add_socket_option(attach)
    _add_host_option(attach)
    _add_stdio_option(attach)
    daemon = add_command(
        "daemon",
        description="Serve all agents and editors of this user that attach. Usually the first one to attach starts it.",
    )
    daemon.add_argument("--detach", action="store_true", help="start one if none runs, and return when it answers")
    daemon.add_argument(
        "--idle-s", metavar="N", type=float, default=600, help="end N seconds after the last client (default: 600)"
    )
    _add_plugin_options(daemon, argparse.SUPPRESS)
    daemon.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)  # a client has started it
    _add_socket_option(daemon)
    status = add_command(
        "status",
        help="print who is connected to the shared daemon and which edits wait; or stop the daemon",
        description=ABOUT_STATUS,
    )
    status.add_argument("--json", action="store_true", help="for programs")
    status.add_argument("--stop", action="store_true", help="end the daemon when its last client has left")
    status.add_argument(
        "--now", action="store_true", help="with --stop: end it now; kill it if it does not end within 5 seconds"
    )
    _add_socket_option(status)


def _add_review_commands(add_command: "Callable[..., argparse.ArgumentParser]") -> None:
    review = add_command(
        "review",
        help="show what waits for a decision, and decide",
        description=ABOUT_REVIEW,
        formatter_class=_Paragraphs,
    )
    review.add_argument("--list", action="store_true", help="print what waits in this folder, one line for each edit")
    review.add_argument("--json", action="store_true", help="with --list: for programs")
    _add_socket_option(review)
    commands = review.add_subparsers(dest="review_command", metavar="COMMAND", prog="fileops-server review")
    for name in ("accept", "reject"):
        command = commands.add_parser(name, help=f"{name} edits", description=f"{name.capitalize()} waiting edits.")
        command.add_argument(
            "ids", metavar="ID", nargs="*", help="as --list prints it, or enough of its beginning to be unique"
        )
        command.add_argument("--all", action="store_true", help="everything that waits in this folder")
        if name == "reject":
            command.add_argument("--reason", metavar="TEXT", help="a sentence for the agent")
        _add_socket_option(command)


TIMES = "12:00, 10m, 2h, 1d, or seconds since the epoch"


def _add_record_commands(add_command: "Callable[..., argparse.ArgumentParser]") -> None:
    """Add the commands about who changed what. The first line of each is for people who are new to all this."""

    def add(name: str, about: str, more: str) -> argparse.ArgumentParser:
        command = add_command(
            name,
            help=about,
            description=f"{about[0].upper()}{about[1:]}.\n\n{more}",
            formatter_class=_Paragraphs,
        )
        command.add_argument("--json", action="store_true", help="for programs")
        _add_socket_option(command)
        return command

    log = add("log", "show what changed in this folder, and who changed it; or one change", ABOUT_LOG)
    log.add_argument(
        "id",
        metavar="ID|PATH",
        nargs="?",
        help="show this change with its diff, or this command, turn or undo; or what changed in this file or folder",
    )
    log.add_argument(
        "--by",
        choices=("session", "command", "person", "outside", "unsure"),
        help="only changes by this kind of author",
    )
    log.add_argument("--session", "--agent", metavar="NAME", help="only changes by this agent's session")
    log.add_argument("--turn", metavar="ID", help="only changes of this turn")
    log.add_argument("--since", metavar="TIME", help=f"only later changes: {TIMES}")
    log.add_argument("-n", metavar="N", type=int, help="show at most N (default: 50; with --all or --json 100)")
    log.add_argument("--all", action="store_true", help="show one line for each change to a file")
    log.add_argument("--turns", action="store_true", help="list what agents were asked, and how much they changed")
    log.add_argument("--forget", metavar="PATH|all", help="remove the record of this file or folder, or all of it")
    diff = add("diff", "show how files differ from what they were before agents changed them", ABOUT_DIFF)
    diff.add_argument("id", metavar="ID", nargs="?", help="a change, command or turn (default: all changes by agents)")
    diff.add_argument("path", metavar="PATH", nargs="?", help="only this file or folder")
    diff.add_argument("--session", "--agent", metavar="NAME", help="only changes by this agent's session")
    diff.add_argument("--since", metavar="TIME", help=f"only later changes: {TIMES}")
    undo = add("undo", "undo what agents changed, and keep what others wrote", ABOUT_UNDO)
    target = undo.add_mutually_exclusive_group()
    target.add_argument(
        "id",
        metavar="ID|PATH",
        nargs="?",
        help="a change, command or undo; or what you have not kept of this turn, file or folder",
    )
    target.add_argument("--all", action="store_true", help="everything here that you have not kept")
    target.add_argument("--turn", metavar="ID", help="what you have not kept of this turn")
    target.add_argument("--session", "--agent", metavar="NAME", help="what you have not kept of this agent's session")
    target.add_argument("--command", metavar="ID", dest="of_command", help="everything that this command wrote")
    undo.add_argument(
        "--since",
        metavar="TIME|ID",
        help=f"with --agent, only changes since then: {TIMES}; or the id of a turn: it and all later ones of its "
        "agent, with --all of all agents",
    )
    undo.add_argument(
        "--path",
        metavar="PATH",
        action="append",
        default=[],
        dest="paths",
        help="only in this file or folder (repeatable)",
    )
    undo.add_argument("--kept", action="store_true", help="of a turn or agent, also what you have kept or committed")
    undo.add_argument("--include-unsure", action="store_true", help="also undo changes that may be by another author")
    undo.add_argument("--fail-on-conflict", action="store_true", help="undo nothing if anything would have to be left")
    undo.add_argument(
        "--plan", metavar="ID", help="undo only if the result is what the preview with this plan id showed"
    )
    undo.add_argument("--reason", metavar="TEXT", help="a reason, in one line, for the agent whose changes are undone")
    redo = add("redo", "take an undo back", ABOUT_REDO)
    redo.add_argument(
        "id", metavar="ID", nargs="?", help="the id that `undo` and `log` print (default: your last undo here)"
    )
    for command in (undo, redo):
        command.add_argument("--dry-run", action="store_true", help="only show what would be done")
        command.add_argument("--yes", action="store_true", help="do not ask; needed without a terminal")
    blame = add("blame", "show who wrote each line of a file", ABOUT_IDS)
    blame.add_argument("path", metavar="FILE")
    changes = add("changes", "list edits that wait for you, and agents' changes that you have not kept", ABOUT_CHANGES)
    changes.add_argument("path", metavar="PATH", nargs="?", help="only in this file or folder")
    changes.add_argument("--diff", action="store_true", help="show the differences that you have not kept")
    changes.add_argument("--screen", action="store_true", help="show all in the full screen, and keep or undo it there")
    keep = add("keep", "keep changes of agents, so that they no longer count as new", ABOUT_KEEP)
    keep.add_argument("path", metavar="PATH", nargs="?", help="changes in this file or folder")
    keep.add_argument("--turn", metavar="ID", help="changes of this turn")
    keep.add_argument("--session", "--agent", metavar="NAME", help="changes of this agent's session")
    keep.add_argument("--all", action="store_true", help="everything here; it is shown first, and you are asked")
    keep.add_argument("--yes", action="store_true", help="with --all: do not ask")
    keep.add_argument(
        "--undo", metavar="ID", help="undo a keep, by the id that it printed, or your last one here: last"
    )


def _add_mcp_options(mcp: argparse.ArgumentParser) -> None:
    mcp.add_argument(
        "--root",
        metavar="DIR",
        action="append",
        default=[],
        dest="roots",
        help="a folder in which files may be edited; may be given several times (default: the host's folders)",
    )
    mcp.add_argument(
        "--session", "--agent", metavar="NAME", help="the session's name in the history and in messages to others"
    )
    for choice in MCP_CHOICES:
        flag = "--" + choice.name.replace("_", "-")
        mcp.add_argument(
            flag, choices=choice.values, default=choice.values[0], metavar=choice.metavar, help=choice.help
        )
    mcp.add_argument(
        "--tools",
        metavar="+NAME",
        action="append",
        default=[],
        help=f"further tools, separated by commas, or each with its own --tools: {', '.join(FURTHER_TOOLS)}",
    )
    mcp.add_argument(
        "--record",
        choices=("on", "edits", "off"),
        help="what the shared daemon records, if this host is its first client: every change in the roots (default), "
        "its own edits, or nothing",
    )
    mcp.add_argument(
        "--max-read-bytes",
        metavar="N",
        type=int,
        help="refuse reads of longer texts, because the host would cut them (default: 40000; none for Claude Code)",
    )
    mcp.add_argument(
        "--encoding",
        metavar="GLOB=NAME",
        action="append",
        default=[],
        dest="encodings",
        help="the encoding of the files that match the glob, such as '*.txt=gbk' (a Python codec; may be given "
        "several times); without it, files are UTF-8 or begin with a byte order mark",
    )
    mcp.add_argument(
        "--unreadable",
        metavar="GLOB",
        action="append",
        default=[],
        help="files that the agent must not read or edit here, in addition to those in .agentsignore files; a folder "
        "means everything below it (may be given several times). Shell commands of the host are not restricted",
    )
    mcp.add_argument(
        "--diagnostics-wait-s",
        metavar="N",
        type=float,
        help="how many seconds the answer to an edit may wait for problems, 0 to 30 (default: 2)",
    )
    mcp.add_argument(
        "--language-servers",
        metavar="FILE",
        help="a JSON file that lists the language servers to start; it must not be in a root (default: "
        "fileops/language-servers.json in $XDG_CONFIG_HOME or ~/.config, if it exists)",
    )
    mcp.add_argument(
        "--private", action="store_true", help="serve from this process alone, not through the shared daemon"
    )
    _add_socket_option(mcp)
    _add_host_option(mcp)
    mcp_commands = mcp.add_subparsers(dest="mcp_command", metavar="COMMAND", prog="fileops-server mcp")
    config = mcp_commands.add_parser(
        "config",
        help="print or write a host's configuration",
        description=ABOUT_MCP_CONFIG,
        formatter_class=_Paragraphs,
    )
    _add_mcp_config_options(config)
    hook = mcp_commands.add_parser(
        "hook", help="answer a host's hook", description="Read a hook's JSON on stdin and answer it on stdout."
    )
    hook.add_argument("host", metavar="HOST", choices=HOOK_HOSTS, help=", ".join(HOOK_HOSTS))
    hook.add_argument(
        "--mode",
        choices=MODES,
        default="tools",
        help="companion: guard and record the host's own tools; tools: refuse them where ours are connected (default)",
    )
    hook.add_argument(
        "--notebooks",
        choices=("host", "ours"),
        default="host",
        help="whose tools are for notebooks, the host's (default), or ours, which `--tools +notebook` adds",
    )


def _add_mcp_config_options(config: argparse.ArgumentParser) -> None:
    config.add_argument("host", metavar="HOST", choices=MCP_HOSTS, help=", ".join(MCP_HOSTS))
    config.add_argument(
        "--notebooks",
        choices=("host", "ours"),
        default="host",
        help="ours: the agent reads and edits notebooks by our tools, and Claude Code's own NotebookEdit is refused",
    )
    config.add_argument(
        "--mode",
        choices=MODES,
        default="companion",
        help="companion: the host keeps its own tools, which hooks guard and record (default); tools: hooks refuse "
        "them, and the model edits with those of fileops-server",
    )
    config.add_argument(
        "--read-only-sandbox",
        action="store_true",
        help="codex: a read-only sandbox in place of the hook, with --mode tools",
    )
    config.add_argument(
        "--command",
        metavar="PATH",
        default="fileops-server",
        dest="server_command",
        help="the program that the host starts (default: fileops-server, found on the host's PATH)",
    )
    act = config.add_mutually_exclusive_group()
    act.add_argument("--write", action="store_true", help="merge it into the host's files, after showing a diff")
    act.add_argument(
        "--check", action="store_true", help="say which mode is configured, and which sessions are guarded now"
    )
    act.add_argument("--remove", action="store_true", help="remove what --write added, after showing a diff")
    config.add_argument(
        "--project",
        action="store_true",
        help="claude, copilot, opencode: write the files that the project shares, for a team",
    )
    config.add_argument("--yes", action="store_true", help="do not ask before a change; needed without a terminal")
    config.add_argument(
        "--replace", action="store_true", help="with --write: replace values that differ; without it they are an error"
    )
    config.add_argument(
        "--language-servers",
        action="store_true",
        help="with --write: let the daemon use the language servers that are installed (without it, you are asked)",
    )
    config.add_argument(
        "--directory",
        metavar="DIR",
        default="",
        help="the folder of the project, or where the files of a plugin go (default: the current folder)",
    )
