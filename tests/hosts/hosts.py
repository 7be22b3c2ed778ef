"""How each agent host is started: its command line, its environment, and where its configuration goes.

The configuration is what `fileops-server mcp config HOST` prints, plus what points the host at the scripted model.
The scripted model is also the proxy of each host, and refuses: nothing that a host wants from elsewhere leaves the
machine, and a machine without a network fails it as fast as one with a slow network.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hosts.scripted_model import CallOfHost, Patch, Step
from support import daemon_process
from support.patience import FULL_S

PREFIX = Path(os.environ.get("FILEOPS_HOSTS") or Path.home() / ".cache" / "fileops-hosts")
PROGRAMS = Path(os.environ.get("FILEOPS_HOSTS_SERVER") or Path(sys.executable).parent)  # `fileops-server` is here
PRIVATE_SERVER = """\
#!/bin/sh
case "$1 $2" in
"mcp hook" | "mcp config") exec "{server}" "$@" ;;
"mcp "*) shift && exec "{server}" mcp --private "$@" ;;
*) exec "{server}" "$@" ;;
esac
"""
SHARED_SERVER = """\
#!/bin/sh
export FILEOPS_SOCKET="{socket}" XDG_STATE_HOME="{state}"
exec "{server}" "$@"
"""
PROMPT = "Please edit a.txt"
# A start and a dozen calls are up to 10 s of processor time, which takes minutes at a load of 30. One event needs less,
# so the bound of an event may shrink after a failure elsewhere (support/patience.py); this one does not.
CONVERSATION_S = 4 * FULL_S


def missing(what: str) -> NoReturn:
    reason = f"{what} is not installed: run tests/hosts/install.sh"
    if os.environ.get("FILEOPS_REQUIRE_HOSTS"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def program(host: str, pattern: str) -> str:
    found = sorted((PREFIX / host).glob(pattern))
    return str(found[0]) if found else missing(host)


def node_program() -> str:
    installed = PREFIX / "node" / "bin" / "node"  # only where the system's is too old
    return str(installed) if installed.exists() else shutil.which("node") or missing("node")


@dataclass(frozen=True)
class Place:
    """Where a host runs: a home with its settings, and a project.

    socket: of the shared daemon; "": it has none. daemon: in which its servers and hooks take part, also where the host
    clears their environment.
    """

    home: Path
    project: Path
    port: int
    socket: str = ""
    daemon: daemon_process.Place | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _own_server(self) -> Path:
        """A folder with a `fileops-server` that never takes part in the user's shared daemon."""
        folder = self.home / "bin"
        folder.mkdir(exist_ok=True)
        server, program = folder / "fileops-server", PROGRAMS / "fileops-server"
        text = PRIVATE_SERVER.format(server=program)
        if self.daemon is not None:
            state = self.daemon.env["XDG_STATE_HOME"]
            text = SHARED_SERVER.format(socket=self.daemon.socket, state=state, server=program)
        server.write_text(text, encoding="utf-8")
        server.chmod(0o755)
        return folder

    def put(self, documents: dict[str, str]) -> None:
        for name, text in documents.items():
            if name.startswith(".git/"):
                continue  # it is no repository
            path = self.home / name[2:] if name.startswith("~/") else self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def environment(self, **more: str) -> dict[str, str]:
        own = [] if self.socket else [self._own_server()]
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(map(str, (*own, PROGRAMS, os.environ["PATH"]))),
            **({"FILEOPS_SOCKET": self.socket} if self.socket else {}),
            "NO_PROXY": "127.0.0.1,localhost",
            "HTTP_PROXY": self.url,
            "HTTPS_PROXY": self.url,
            **more,
        }


@dataclass(frozen=True)
class Start:
    arguments: list[str]
    environment: dict[str, str]


@dataclass(frozen=True)
class Host:
    """A host: how it is started, and how it would edit without fileops-server."""

    name: str
    start: Callable[[Place, list[str]], Start]
    own_edit: Callable[[Path], Step]
    options: tuple[str, ...] = ()
    reads_whole: bool = True  # 60,000 characters, as configured
    refusal: str = ""  # what the model reads when it calls the host's own edit tool
    wants: frozenset[str] = frozenset()  # of the internet, without a setting to switch it off; refused


def printed_config(host: str, *options: str) -> dict[str, str]:
    """Return the documents that `mcp config` prints, by the files that they are for; without `--mode`, of `tools`."""
    mode = () if "--mode" in options else ("--mode", "tools")
    command = [str(PROGRAMS / "fileops-server"), "mcp", "config", host, *mode, *options]
    text = subprocess.run(command, capture_output=True, check=True, text=True, timeout=50).stdout
    documents: dict[str, str] = {}
    name = ""
    for line in text.splitlines(keepends=True):
        if line.startswith(("// ", "# ")):
            name = line.split(" ", 1)[1].strip()
        else:
            documents[name] = documents.get(name, "") + line
    return documents


def _with_settings(document: str, settings: dict[str, Any]) -> str:
    content = json.loads(document)
    assert settings.keys().isdisjoint(content)
    return json.dumps(settings | content)


CODEX_TOP = """\
model = "gpt-5.5"
model_provider = "mock"
approval_policy = "on-request"
check_for_update_on_startup = false
"""
CODEX_TABLES = """
[analytics]
enabled = false

[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
requires_openai_auth = false
"""


def start_codex(place: Place, options: list[str]) -> Start:
    codex = program("codex", "vendor/*/bin/codex")
    documents = printed_config("codex", *options)
    name = "~/.codex/config.toml"
    tables = CODEX_TABLES.format(url=place.url)
    # The sandbox may write, so that the hook alone keeps apply_patch out.
    documents[name] = CODEX_TOP + 'sandbox_mode = "workspace-write"\n' + documents[name] + tables
    place.put(documents)
    return codex_exec(codex, place, "--dangerously-bypass-hook-trust")  # a person trusts the hook once


def codex_at(socket: str) -> Host:
    """Codex whose server attaches to the daemon at `socket`: Codex passes on only configured variables."""

    def start(place: Place, options: list[str]) -> Start:
        started = start_codex(place, options)
        config = place.home / ".codex" / "config.toml"
        text = config.read_text(encoding="utf-8")
        command, table = '"fileops-server", "mcp"', "[mcp_servers.fileops]\n"
        assert (text.count(command), text.count(table)) == (1, 1)
        server = PROGRAMS / "fileops-server"  # not the private one that `Place` puts first
        text = text.replace(command, f'"{server}", "mcp"')
        attached = text.replace(table, f'{table}env = {{ FILEOPS_SOCKET = "{socket}" }}\n')
        config.write_text(attached, encoding="utf-8")
        return started

    return Host("codex", start, patch_of_codex)


def _start_written_codex(place: Place, options: list[str]) -> Start:
    """Merge the configuration into a file that exists, as `mcp config --write` does."""
    codex = program("codex", "vendor/*/bin/codex")
    place.put({"~/.codex/config.toml": CODEX_TOP + CODEX_TABLES.format(url=place.url)})
    mode = ("--mode", "tools")
    write = [str(PROGRAMS / "fileops-server"), "mcp", "config", "codex", *mode, *options, "--write", "--yes"]
    subprocess.run(write, env=place.environment(), cwd=place.project, capture_output=True, check=True, timeout=50)
    return codex_exec(codex, place)


def codex_exec(codex: str, place: Place, *options: str, with_plugins: bool = False) -> Start:
    offline = ["--disable", "apps", *([] if with_plugins else ["--disable", "plugins"])]
    arguments = [codex, "exec", "--skip-git-repo-check", "--json", *offline, *options, PROMPT]
    return Start(arguments, place.environment(CODEX_HOME=str(place.home / ".codex")))


def _start_opencode(place: Place, options: list[str]) -> Start:
    opencode = program("opencode", "bin/opencode")
    limits = {"context": 200_000, "output": 4096}
    modalities = {"input": ["text", "image"], "output": ["text"]}
    fake = {"name": "fake", "tool_call": True, "attachment": True, "modalities": modalities, "limit": limits}
    connection = {"baseURL": f"{place.url}/v1", "apiKey": "k"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "mock", "options": connection, "models": {"fake": fake}}
    settings = {
        "model": "mock/fake",
        "small_model": "mock/fake",
        "autoupdate": False,
        "share": "disabled",
        "enabled_providers": ["mock"],
        "provider": {"mock": provider},
    }
    documents = printed_config("opencode", *options)
    name = "~/.config/opencode/opencode.json"
    place.put({**documents, name: _with_settings(documents[name], settings), "~/models.json": "{}"})
    quiet = {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_MODELS_PATH": str(place.home / "models.json"),  # of all providers: a third of its start
    }
    return Start([opencode, "run", "--format", "json", PROMPT], place.environment(**quiet))


_GEMINI_SETTINGS: dict[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "model": {"disableLoopDetection": True},  # after 30 calls it asks the model whether it is in one
}


STARTS_ONCE = {"GEMINI_CLI_NO_RELAUNCH": "true"}


def gemini_with(place: Place, documents: dict[str, str], *arguments: str, starts_itself_again: bool = False) -> Start:
    """starts_itself_again: with more memory, as it does for a user; else it has what Node gives it."""
    bundle = program("gemini", "bundle/gemini.js")
    name = "~/.gemini/settings.json"
    place.put({**documents, name: _with_settings(documents.get(name, "{}"), _GEMINI_SETTINGS)})
    environment = place.environment(GEMINI_API_KEY="fake", GOOGLE_GEMINI_BASE_URL=place.url)
    once = {} if starts_itself_again else STARTS_ONCE
    return Start([node_program(), bundle, "-m", "gemini-2.5-pro", *arguments], environment | once)


def _start_gemini(place: Place, options: list[str]) -> Start:
    printing = ["--output-format", "stream-json", "-p", PROMPT]
    edits = ["--allowed-tools", "replace"]  # its own tools are allowed, so that the hook alone keeps them out
    return gemini_with(place, printed_config("gemini", *options), *edits, *printing)


def start_gemini_acp(place: Place) -> Start:
    """Gemini CLI as an ACP agent, with its own tools, without ours."""
    return gemini_with(place, {}, "--acp")


def start_copilot(place: Place, options: list[str], *, model: str, wire_api: str) -> Start:
    """Copilot CLI with a model of its user's own. offline: it asks nobody to sign in, and needs no account."""
    copilot = program("copilot", "copilot")
    place.put(printed_config("copilot", *options))
    environment = place.environment(
        COPILOT_OFFLINE="true",
        COPILOT_AUTO_UPDATE="false",
        COPILOT_PKG_CACHE_HOME=str(PREFIX / "copilot" / "unpacked"),  # else each new home gets 235 MB
        COPILOT_PROVIDER_BASE_URL=f"{place.url}/v1",
        COPILOT_PROVIDER_API_KEY="k",
        COPILOT_PROVIDER_WIRE_API=wire_api,
        COPILOT_MODEL=model,
    )
    return Start([copilot, "--allow-all-tools", "-p", PROMPT], environment)


CLAUDE_KEY = "sk-fake"


def start_claude(place: Place, options: list[str]) -> Start:
    place.put(printed_config("claude", "--project", *options))
    # A folder that is not trusted yet has no servers and rules of the project, so they are given on the command line.
    given = ["--mcp-config", ".mcp.json", "--strict-mcp-config", "--settings", ".claude/settings.json"]
    return claude_print(place, *given)


def _start_claude_plugin(place: Place, options: list[str]) -> Start:
    documents = printed_config("claude-plugin", *options)
    place.put({f"~/plugin/{name}": text for name, text in documents.items()})
    allowed = "mcp__plugin_fileops_fileops"  # of the plugin's server; a plugin cannot allow its own tools
    # Edit is allowed as well, so that the hook alone keeps it out.
    return claude_print(place, "--plugin-dir", str(place.home / "plugin"), "--allowedTools", f"{allowed},Edit")


def claude_print(place: Place, *options: str) -> Start:
    printing = ["-p", PROMPT, "--output-format", "stream-json", "--verbose"]
    return Start([claude_code(), *printing, *options], claude_environment(place))


def start_claude_screen(place: Place) -> Start:
    """Claude Code as a person starts it who has been through its first questions, and trusts the folder."""
    documents = printed_config("claude", "--directory", str(place.project))
    known = json.loads(documents.pop("~/.claude.json"))
    known["projects"][str(place.project)]["hasTrustDialogAccepted"] = True
    known |= {"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": [CLAUDE_KEY]}}
    place.put({**documents, "~/.claude/.claude.json": json.dumps(known)})
    return Start([claude_code()], claude_environment(place))


def claude_code() -> str:
    return program("claude", "claude")


def claude_environment(place: Place) -> dict[str, str]:
    return place.environment(
        CLAUDE_CONFIG_DIR=str(place.home / ".claude"),
        ANTHROPIC_BASE_URL=place.url,
        ANTHROPIC_API_KEY=CLAUDE_KEY,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
        DISABLE_TELEMETRY="1",
        DISABLE_ERROR_REPORTING="1",
        CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL="1",
    )


def _edit_of_host(tool: str, **names: str) -> Callable[[Path], Step]:
    def edit(path: Path) -> Step:
        values = {"path": str(path), "old": "hello", "new": "built-in"}
        return CallOfHost(tool, {name: values.get(value, value) for name, value in names.items()})

    return edit


def patch_of_codex(path: Path) -> Step:
    return Patch(f"*** Begin Patch\n*** Update File: {path}\n@@\n-hello again\n+built-in again\n*** End Patch\n")


_EDIT_OF_CLAUDE = _edit_of_host("Edit", file_path="path", old_string="old", new_string="new")

HOSTS = [
    Host("codex", start_codex, patch_of_codex, reads_whole=False, refusal="Use mcp__fileops__Edit."),
    Host(
        "opencode",
        _start_opencode,
        _edit_of_host("edit", filePath="path", oldString="old", newString="new"),
        reads_whole=False,
        refusal="Use fileops_Edit.",
        wants=frozenset({"registry.npmjs.org:443"}),  # types for plugins
    ),
    Host(
        "gemini",
        _start_gemini,
        _edit_of_host("replace", file_path="path", instruction="change", old_string="old", new_string="new"),
        refusal="Use mcp_fileops_Edit.",
    ),
    Host("claude", start_claude, _EDIT_OF_CLAUDE, refusal="Use mcp__fileops__Edit."),
    Host("claude-plugin", _start_claude_plugin, _EDIT_OF_CLAUDE, refusal="Use mcp__plugin_fileops_fileops__Edit."),
    Host(
        "codex",
        _start_written_codex,
        patch_of_codex,
        ("--read-only-sandbox",),
        reads_whole=False,
        refusal="blocked by read-only sandbox",
    ),
]

# Copilot CLI offers edits of texts to most models, and patches to those of OpenAI. It is tested in companion alone.
COPILOT = Host(
    "copilot",
    partial(start_copilot, model="fake", wire_api="completions"),
    _edit_of_host("edit", path="path", old_str="old", new_str="new"),
)
COPILOT_WITH_PATCHES = Host(
    "copilot-patches", partial(start_copilot, model="gpt-5.4", wire_api="responses"), patch_of_codex
)

# --- the host's own shell --------------------------------------------------------------------------------------

SHELLS = {
    "claude": ("Bash", "command"),
    "claude-plugin": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
    "opencode": ("bash", "command"),
}
# A person allows the shell, and edits of notebooks, once: the stories have none who could.
EDITS_NOTEBOOKS = {"claude"}  # with a tool of its own
ALLOWED = {
    "claude": ["--allowedTools", "Bash,NotebookEdit"],
    "claude-plugin": ["--allowedTools", "Bash"],
    "gemini": ["--yolo"],
}
LABELS = {"claude": "Claude Code", "claude-plugin": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
TELLING = [host for host in HOSTS if not host.options]  # whose shell may write


def in_shell(host: Host, command: str, before: Callable[[], None] = lambda: None) -> Step:
    tool, key = SHELLS[host.name]
    return CallOfHost(tool, {key: command, "description": "do it"}, before)


def allowing_shell(host: Host) -> Host:
    def start(place: Place, options: list[str]) -> Start:
        started = host.start(place, options)
        return replace(started, arguments=[*started.arguments, *ALLOWED.get(host.name, [])])

    return replace(host, start=start)
