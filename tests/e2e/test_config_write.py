"""`mcp config HOST --write`, as a process: what is in the user's files remains, and is never half written."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import tomllib
import tty
from pathlib import Path

import pytest

from fileops.arguments import MCP_HOSTS
from fileops.mcp.config import settings_file
from fileops.wire.language_servers import read_language_servers


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path / "home"


ELSEWHERE = {"CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}


def command(host: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "fileops", "mcp", "config", host, "--write", *options]


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    programs = home / "bin"  # of the language servers that are installed
    return kept | {"HOME": str(home), "PATH": os.pathsep.join(["bin", str(programs), "/usr/bin", "/bin"])}


def write(home: Path, host: str, *options: str) -> subprocess.CompletedProcess[str]:
    return config(home, host, "--write", *options)


def remove(home: Path, host: str, *options: str) -> subprocess.CompletedProcess[str]:
    return config(home, host, "--remove", "--yes", *options)


def config(home: Path, host: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fileops", "mcp", "config", host, *options],
        cwd=home.parent / "project",
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
        timeout=50,
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("host", MCP_HOSTS)
def test_config_is_written_once(home: Path, host: str) -> None:
    first = write(home, host, "--yes")
    assert (first.returncode, first.stderr) == (0, "")
    assert "+++ " in first.stdout
    assert first.stdout.splitlines()[-1].startswith("Next: ")  # no long difference is between that and the prompt
    before = snapshot(home.parent)
    assert before != {}
    second = write(home, host, "--yes")
    assert second.returncode == 0
    assert {line.rpartition(": ")[2] for line in second.stdout.splitlines()} == {"already configured"}
    assert snapshot(home.parent) == before


@pytest.mark.parametrize("host", MCP_HOSTS)
def test_config_says_what_it_is_for_before_it_asks(home: Path, host: str) -> None:
    asked = write(home, host)
    assert (asked.returncode, snapshot(home.parent)) == (1, {})
    assert f"\nTo take the changes back: fileops-server mcp config {host} --remove\n" in asked.stdout
    assert ("keeps its own tools. Hooks guard and record" in asked.stdout) == (host not in {"vscode", "zed"})
    assert "\nWho asks: " in asked.stdout
    assert "\nNext: " not in asked.stdout  # nothing was written


REFUSED_IN_TOOLS = ("claude", "claude-plugin", "codex", "opencode", "gemini")


@pytest.mark.parametrize("host", REFUSED_IN_TOOLS)
def test_config_of_tools_says_that_hooks_refuse_and_who_asks_from_now_on(home: Path, host: str) -> None:
    """The host's own question before an edit is off from then on."""
    asked = write(home, host, "--mode", "tools").stdout
    assert "Hooks refuse the host's own tools" in asked
    assert ("no longer asks before edits" in asked) == (host != "claude-plugin")
    assert f"fileops-server mcp config {host} --mode companion --write" in asked


@pytest.mark.parametrize("host", [host for host in MCP_HOSTS if host not in {"vscode", "zed"}])
def test_other_mode_replaces_our_own_entries_and_remove_takes_back_both(home: Path, host: str) -> None:
    """R-COMP-2"""
    before = snapshot(home.parent)
    assert write(home, host, "--yes", "--mode", "tools").returncode == 0
    tools = written_by(home)
    switched = write(home, host, "--yes")
    assert (switched.returncode, switched.stderr) == (0, "")
    if host in REFUSED_IN_TOOLS:
        assert "They replace what was written for --mode tools." in switched.stdout
    both = " ".join(written_by(home).values())
    assert "--mode companion" in both or '"--mode", "companion"' in both
    assert not re.search(rf"mcp hook {host}(?! --mode companion)", both)
    assert write(home, host, "--yes", "--mode", "tools").returncode == 0
    assert {name: text for name, text in written_by(home).items() if "hooks/fileops.json" not in name and text} == tools
    assert remove(home, host, "--mode", "tools").returncode == 0
    assert remove(home, host).returncode == 0
    assert written_by(home) == {name: text.decode() for name, text in before.items()}


@pytest.mark.parametrize("host", ["claude", "codex", "opencode", "cursor"])
def test_check_says_which_mode_is_configured(home: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-COMP-33"""
    monkeypatch.setenv("FILEOPS_SOCKET", str(home / "a.sock"))
    before = config(home, host, "--check")
    assert (before.returncode, before.stderr) == (1, "")
    assert "is not configured completely here" in before.stdout
    for mode in ("tools", "companion"):
        assert write(home, host, "--yes", "--mode", mode).returncode == 0
        checked = config(home, host, "--check")
        assert checked.returncode == 0
        assert f"is configured in the mode {mode}." in checked.stdout
    assert "no session is guarded now" in checked.stdout


def test_check_names_a_plugin_that_another_version_has_written(home: Path) -> None:
    assert write(home, "opencode", "--yes").returncode == 0
    plugin = home / ".config" / "opencode" / "plugins" / "fileops.js"
    plugin.write_text(plugin.read_text(encoding="utf-8").replace("PATIENCE_MS = 3000", "PATIENCE_MS = 2000"))
    checked = config(home, "opencode", "--check")
    assert checked.returncode == 1
    assert f"{plugin} is of another version of fileops-server" in checked.stdout
    assert write(home, "opencode", "--yes").returncode == 0
    assert config(home, "opencode", "--check").returncode == 0
    (home / ".config" / "opencode" / "opencode.json").unlink()
    assert "another version" not in config(home, "opencode", "--check").stdout
    plugin.write_text("// the user's own\n")
    assert "another version" not in config(home, "opencode", "--check").stdout


def test_entries_of_the_other_mode_that_a_colleague_wrote_are_replaced_as_well(home: Path) -> None:
    """Nothing is recorded of them here."""
    assert write(home, "claude", "--yes", "--project", "--mode", "tools").returncode == 0
    (home / ".local" / "state" / "fileops-server" / "mcp-config.json").unlink(missing_ok=True)
    for record in (home / ".local" / "state" / "fileops-server").glob("*.json"):
        record.unlink()
    done = write(home, "claude", "--yes", "--project")
    assert (done.returncode, done.stderr) == (0, "")
    settings = (home.parent / "project" / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert settings.count("mcp hook claude") == settings.count("mcp hook claude --mode companion") > 0


def written_by(home: Path) -> dict[str, str]:
    """The files of the user and the project, without the record of what was written."""
    state = str(home / ".local" / "state")
    return {name: text.decode() for name, text in snapshot(home.parent).items() if not name.startswith(state)}


def test_config_says_why_the_host_will_not_be_able_to_connect(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "shared").mkdir(mode=0o755)
    monkeypatch.setenv("FILEOPS_SOCKET", str(home / "shared" / "a.sock"))
    done = write(home, "claude", "--yes")
    assert done.returncode == 0
    assert "claude will not be able to start the server. The folder " in done.stderr
    assert "is open to other users (mode 0755, not 0700)" in done.stderr


def test_plugin_of_opencode_replaces_only_what_an_earlier_version_wrote(home: Path) -> None:
    plugin = home / ".config" / "opencode" / "plugins" / "fileops.js"
    assert write(home, "opencode", "--yes").returncode == 0
    current = plugin.read_text()
    plugin.write_text(current.partition("\n")[0] + "\n// an older text\n")
    assert write(home, "opencode", "--yes").returncode == 0
    assert plugin.read_text() == current
    plugin.write_text("// my own plugin\n")
    refused = write(home, "opencode", "--yes")
    assert (refused.returncode, plugin.read_text()) == (1, "// my own plugin\n")
    assert "is another program" in refused.stderr
    assert write(home, "opencode", "--yes", "--replace").returncode == 0
    assert plugin.read_text() == current


CODEX = """\
# my settings
model = "gpt-5.5"  # the good one

[mcp_servers.other]
command = "other"

[features]
# on purpose
web_search = true
"""


def test_toml_of_the_user_remains_with_its_comments(home: Path) -> None:
    (home / ".codex").mkdir()
    config = home / ".codex" / "config.toml"
    config.write_text(CODEX, encoding="utf-8")
    config.chmod(0o600)
    done = write(home, "codex", "--read-only-sandbox", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    text = config.read_text(encoding="utf-8")
    assert [line for line in CODEX.splitlines() if line not in text.splitlines()] == []
    parsed = tomllib.loads(text)
    assert parsed["sandbox_mode"] == "read-only"
    assert parsed["mcp_servers"]["other"] == {"command": "other"}
    assert parsed["mcp_servers"]["fileops"]["args"][2] == "fileops-server"
    assert parsed["features"]["web_search"] is True
    assert parsed["features"]["code_mode"]["enabled"] is False
    assert config.stat().st_mode & 0o777 == 0o600


def test_json_of_the_user_remains_with_its_comments(home: Path) -> None:
    settings = home.parent / "project" / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    mine = '{\n  // mine\n  "permissions": {\n    "allow": ["mcp__fileops__Edit", "WebFetch"] // net\n  }\n}\n'
    settings.write_text(mine, encoding="utf-8")
    assert write(home, "claude", "--yes", "--mode", "tools").returncode == 0
    text = settings.read_text(encoding="utf-8")
    assert "// mine" in text
    allowed = '"mcp__fileops__Edit", "WebFetch", "mcp__fileops__Read", "mcp__fileops__MultiEdit", "mcp__fileops__Write"'
    assert f'"allow": [{allowed}] // net' in text


def test_other_value_of_the_user_is_a_conflict_until_replace(home: Path) -> None:
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"tools": {"truncateToolOutputThreshold": 9}}', encoding="utf-8")
    before = snapshot(home.parent)
    done = write(home, "gemini", "--yes")
    assert done.returncode == 1
    assert "another value for tools.truncateToolOutputThreshold" in done.stderr
    assert snapshot(home.parent) == before
    assert write(home, "gemini", "--yes", "--replace").returncode == 0
    assert json.loads(settings.read_text(encoding="utf-8"))["tools"] == {"truncateToolOutputThreshold": 200000}


def make_broken(path: Path) -> None:
    path.write_text('{"mcp": ', encoding="utf-8")


def make_list(path: Path) -> None:
    path.write_text("[]", encoding="utf-8")


def make_latin(path: Path) -> None:
    path.write_bytes(b'{"name": "\xe9"}')


def make_link(path: Path) -> None:
    (path.parent / "dotfiles.json").write_text("{}", encoding="utf-8")
    path.symlink_to("dotfiles.json")


def make_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere.json")


def make_hard_link(path: Path) -> None:
    (path.parent / "dotfiles.json").write_text("{}", encoding="utf-8")
    path.hardlink_to(path.parent / "dotfiles.json")


def make_folder(path: Path) -> None:
    path.mkdir()


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_foreign(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give a file away")
    path.write_text("{}", encoding="utf-8")
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize(
    "make",
    [
        make_broken, make_list, make_latin, make_link, make_dangling_link, make_hard_link, make_folder, make_fifo,
        make_foreign,
    ],
)  # fmt: skip
def test_file_that_cannot_be_merged_is_left_alone(home: Path, make: object) -> None:
    assert callable(make)
    path = home.parent / "project" / "opencode.json"
    make(path)
    before, names = snapshot(home.parent), sorted(os.listdir(path.parent))
    done = write(home, "opencode", "--project", "--yes", "--replace")
    assert done.returncode == 1
    assert done.stderr.startswith("fileops-server mcp config: ")
    assert "opencode.json" in done.stderr
    assert (snapshot(home.parent), sorted(os.listdir(path.parent))) == (before, names)


# --- removal ------------------------------------------------------------------------------------------------------

HOSTS_AND_FILES = [*((host, ()) for host in MCP_HOSTS), ("claude", ("--project",)), ("opencode", ("--project",))]


@pytest.mark.parametrize(("host", "options"), HOSTS_AND_FILES)
def test_removal_leaves_nothing_of_what_was_written(home: Path, host: str, options: tuple[str, ...]) -> None:
    subprocess.run(["git", "init", "-q", str(home.parent / "project")], check=True, timeout=50)
    before = snapshot(home.parent)
    assert write(home, host, "--yes", *options).returncode == 0
    assert snapshot(home.parent) != before
    done = remove(home, host, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("Next: restart ")
    assert snapshot(home.parent) == before
    again = remove(home, host, *options)
    assert {line.rpartition(": ")[2] for line in again.stdout.splitlines()} == {"nothing to remove"}


MINE = [
    """{
  // what I like
  "theme": "dark", // at night
  "mcpServers": {"other": {"command": "other"}}
}
""",
    """{
\t"hooks": {
\t\t"BeforeTool": [
\t\t\t{"matcher": "mine"}, // my own
\t\t],
\t},
\t"tools": {"truncateToolOutputThreshold": 200000}, /* mine before */
}
""",
    '{"a": [1, 2]}',
    '{\r\n  "a": 1\r\n}\r\n',
]


@pytest.mark.parametrize("mine", MINE)
def test_removal_restores_json_of_the_user_byte_for_byte(home: Path, mine: str) -> None:
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_bytes(mine.encode())
    assert write(home, "gemini", "--yes").returncode == 0
    assert settings.read_bytes() != mine.encode()
    assert remove(home, "gemini").returncode == 0
    assert settings.read_bytes() == mine.encode()


def test_removal_restores_toml_of_the_user_byte_for_byte(home: Path) -> None:
    (home / ".codex").mkdir()
    settings = home / ".codex" / "config.toml"
    settings.write_text(CODEX, encoding="utf-8")
    assert write(home, "codex", "--read-only-sandbox", "--yes").returncode == 0
    assert remove(home, "codex", "--read-only-sandbox").returncode == 0
    assert settings.read_text(encoding="utf-8") == CODEX


def test_removal_keeps_what_the_user_added_since(home: Path) -> None:
    path = home / ".gemini" / "settings.json"
    assert write(home, "gemini", "--yes").returncode == 0
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["mcpServers"]["fileops"]["args"].append("--approve=ask")
    settings["hooks"]["AfterTool"].append({"matcher": "mine"})
    settings["tools"]["truncateToolOutputThreshold"] = 9
    path.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    assert remove(home, "gemini").returncode == 0
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "tools": {"truncateToolOutputThreshold": 9},
        "hooks": {"AfterTool": [{"matcher": "mine"}]},
    }


COMMENTED = """{
  "context_servers": {
    // "mine": {"command": "m"}
  }
}
"""


@pytest.mark.parametrize("theirs", ["", '  "theme": "dark", // mine\n'])
def test_removal_keeps_comments_in_what_was_empty_after_a_change(home: Path, theirs: str) -> None:
    """The user has changed the lines beside ours since, so it is not the old text that is put back."""
    path = home / ".config" / "zed" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(COMMENTED)
    assert write(home, "zed", "--yes").returncode == 0
    text = path.read_text().replace('"mcp", ', '"mcp",  ').replace("{\n", "{\n" + theirs, 1)
    path.write_text(text)
    assert remove(home, "zed").returncode == 0
    assert path.read_text() == COMMENTED.replace("{\n", "{\n" + theirs, 1)


def test_removal_of_a_setting_after_a_comment_beside_the_brace_leaves_json(home: Path) -> None:
    path = home.parent / "project" / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{ // all of them\n  "mcpServers": { // ours\n    "fileops": {"command": "x"}}}\n')
    done = remove(home, "cursor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "// all of them\n" in path.read_text()
    assert "fileops" not in path.read_text()


def test_line_of_the_user_in_the_list_of_ignored_files_stays(home: Path) -> None:
    project = home.parent / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=50)
    ignored = project / ".git" / "info" / "exclude"
    mine = "# mine\n**/.claude/settings.local.json\n"
    ignored.write_text(mine)
    assert "exclude: already configured" in write(home, "claude", "--yes").stdout
    assert remove(home, "claude").returncode == 0
    assert ignored.read_text() == mine
    assert "exclude: nothing to remove" in remove(home, "claude").stdout


def test_value_that_was_replaced_comes_back(home: Path) -> None:
    path = home / ".gemini" / "settings.json"
    path.parent.mkdir()
    mine = '{"tools": {"truncateToolOutputThreshold": 9}} // low\n'
    path.write_text(mine)
    assert write(home, "gemini", "--yes", "--replace").returncode == 0
    assert remove(home, "gemini").returncode == 0
    assert path.read_text() == mine
    assert write(home, "gemini", "--yes", "--replace").returncode == 0
    path.write_text(path.read_text().replace("{", '{"theirs": 1, ', 1).replace('"mcp",', '"mcp" ,'))
    assert remove(home, "gemini").returncode == 0
    assert json.loads(path.read_text().partition("//")[0]) == {"theirs": 1, "tools": {"truncateToolOutputThreshold": 9}}


def test_what_an_earlier_version_wrote_is_replaced_and_then_removed(home: Path) -> None:
    path = home.parent / "project" / "opencode.json"
    mine = '{"theme": "x"}  \n'
    path.write_text(mine)
    assert write(home, "opencode", "--project", "--yes", "--command", "/old/server").returncode == 0
    assert write(home, "opencode", "--project", "--yes").returncode == 0
    assert "/old/server" not in path.read_text()
    assert remove(home, "opencode", "--project").returncode == 0
    assert path.read_text() == mine


def test_removal_through_another_path_of_the_folder_finds_what_was_written(home: Path) -> None:
    project = home.parent / "project"
    (project / ".cursor").mkdir()
    (project / ".cursor" / "mcp.json").write_text('{"mcpServers": {}}')
    (home / "link").symlink_to(project)
    assert write(home, "cursor", "--yes", "--directory", str(home / "link")).returncode == 0
    assert remove(home, "cursor").returncode == 0
    assert (project / ".cursor" / "mcp.json").read_text() == '{"mcpServers": {}}'


def make_git_fifo(git: Path) -> None:
    os.mkfifo(git)


def make_git_of_other_bytes(git: Path) -> None:
    git.write_bytes(b"gitdir: \xff\0\n")


def make_git_that_names_nothing(git: Path) -> None:
    git.write_text("gitdir: ../nowhere\n")


def make_git_that_names_a_fifo(git: Path) -> None:
    (git.parent / "far").mkdir()
    os.mkfifo(git.parent / "far" / "commondir")
    git.write_text("gitdir: far\n")


def make_git_loop(git: Path) -> None:
    git.symlink_to(".git")


@pytest.mark.parametrize(
    "make",
    [make_git_fifo, make_git_of_other_bytes, make_git_that_names_nothing, make_git_that_names_a_fifo, make_git_loop],
)
def test_odd_git_is_passed_over(home: Path, make: object) -> None:
    assert callable(make)
    make(home.parent / "project" / ".git")
    before = snapshot(home.parent)
    done = write(home, "claude", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert remove(home, "claude").returncode == 0
    assert snapshot(home.parent) == before


@pytest.mark.parametrize("is_repository", [False, True])
def test_folder_above_is_the_top_of_the_project_only_if_git_says_so(home: Path, *, is_repository: bool) -> None:
    """The sandbox of an agent's command creates an empty `.git` for a moment, and its list of files may stay."""
    git = home.parent / ".git"
    (git / "info").mkdir(parents=True)
    (git / "info" / "exclude").touch()
    if is_repository:
        (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert write(home, "claude", "--yes").returncode == 0
    top = home.parent if is_repository else home.parent / "project"
    assert json.loads((home / ".claude.json").read_text(encoding="utf-8"))["projects"].keys() == {str(top)}
    assert bool((git / "info" / "exclude").read_text()) is is_repository


@pytest.mark.parametrize("is_work_tree", [False, True])
def test_settings_of_claude_are_the_persons_own(home: Path, is_work_tree: bool) -> None:
    """A colleague who has no fileops-server sees none of it."""
    project = home.parent / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=50)
    if is_work_tree:
        commit = ["-c", "user.name=u", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "x"]
        subprocess.run(["git", "-C", str(project), *commit], check=True, timeout=50)
        subprocess.run(["git", "-C", str(project), "worktree", "add", "-q", "tree"], check=True, timeout=50)
        project /= "tree"
    assert write(home, "claude", "--yes", "--directory", str(project)).returncode == 0
    assert json.loads((home / ".claude.json").read_text(encoding="utf-8"))["projects"].keys() == {str(project)}
    status = ["git", "-C", str(project), "status", "--porcelain"]
    assert subprocess.run(status, capture_output=True, check=True, timeout=50).stdout == b""


def test_hook_of_a_team_is_silent_where_the_program_is_missing(home: Path) -> None:
    assert write(home, "claude", "--yes", "--project", "--command", "no-such-fileops-server").returncode == 0
    settings = json.loads((home.parent / "project" / ".claude" / "settings.json").read_text(encoding="utf-8"))
    for entry in (entry for entries in settings["hooks"].values() for entry in entries):
        shell = ["sh", "-c", entry["hooks"][0]["command"]]
        run = subprocess.run(shell, capture_output=True, check=True, timeout=50)
        assert (run.stdout, run.stderr) == (b"", b"")


@pytest.mark.parametrize("host", ["codex", "gemini", "vscode"])
def test_host_without_settings_for_a_team_refuses_the_option(home: Path, host: str) -> None:
    done = write(home, host, "--yes", "--project")
    assert (done.returncode, snapshot(home.parent)) == (2, {})
    assert "--project is for claude, copilot and opencode" in done.stderr


def test_bad_file_prevents_the_writing_of_the_others(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "hooks.json").write_text("{", encoding="utf-8")
    assert write(home, "codex", "--yes").returncode == 1
    assert not (home / ".codex" / "config.toml").exists()


def test_config_without_terminal_and_yes_is_not_written(home: Path) -> None:
    done = write(home, "opencode")
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert '+  "mcp"' in done.stdout
    assert snapshot(home.parent) == {}


def on_terminal(home: Path, answers: list[str], *options: str) -> tuple[int, str]:
    """Run it on a terminal, with an answer to each question. Returns the status, and what was shown."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            command("opencode", "--project", *options),
            cwd=home.parent / "project",
            env=environment(home),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout is not None
            shown = b""
            for n, answer in enumerate(answers, 1):
                while shown.count(b"[y/N] ") < n:
                    assert select.select([process.stdout], [], [], 50)[0]
                    chunk = os.read(process.stdout.fileno(), 65536)
                    assert chunk, shown
                    shown += chunk
                os.write(ours, answer.encode())
            shown += process.communicate(timeout=50)[0]
    finally:
        os.close(ours)
        os.close(theirs)
    return process.returncode, shown.decode()


@pytest.mark.parametrize(
    ("answer", "is_written"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False), ("d\n", False)]
)
def test_config_on_a_terminal_requires_confirmation(home: Path, answer: str, is_written: bool) -> None:
    status, shown = on_terminal(home, [answer])
    assert '+  "mcp"' in shown
    assert status == (0 if is_written else 1)
    assert (home.parent / "project" / "opencode.json").exists() == is_written


@pytest.mark.parametrize(("option", "sign"), [("--write", "+"), ("--remove", "-")])
def test_changes_longer_than_the_screen_are_counted_and_shown_on_request(home: Path, option: str, sign: str) -> None:
    """What they are for is in sight when the question comes."""
    if option == "--remove":
        assert write(home, "claude", "--yes").returncode == 0
    before = snapshot(home.parent)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)  # nothing that is typed is echoed
    arguments = [argument for argument in command("claude") if argument != "--write"]
    with subprocess.Popen(
        [*arguments, option],
        cwd=home.parent / "project",
        env=environment(home) | {"LINES": "24", "COLUMNS": "80"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = [_read_until(ours, b"differences] ")]
        os.write(ours, b"d\n")
        shown.append(_read_until(ours, b"differences] "))
        os.write(ours, b"n\n")
        shown.append(_read_until(ours, b"Nothing was written.\n"))
        assert process.wait(50) == 1
    os.close(ours)
    assert len(shown[0].splitlines()) < 24
    assert f"\n{sign}" not in shown[0]
    assert re.search(r"settings\.local\.json: .*lines? added, \d+ removed\n", shown[0])
    assert ("\nWho asks: " in shown[0]) == (option == "--write")
    assert f"\n{sign}  " in shown[1]
    assert len(shown[1].splitlines()) > 100
    assert snapshot(home.parent) == before


def _read_until(descriptor: int, end: bytes) -> str:
    shown = b""
    while not shown.endswith(end):
        assert select.select([descriptor], [], [], 50)[0], shown
        shown += os.read(descriptor, 65536)
    return shown.decode()


# --- language servers ---------------------------------------------------------------------------------------------


def install(home: Path, *names: str) -> None:
    for folder in (home / "bin", home.parent / "project" / "bin"):  # PATH names the second one by `bin`
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)


def named_servers(home: Path) -> list[dict[str, object]] | None:
    path = home / ".config" / "fileops" / "language-servers.json"
    return json.loads(path.read_bytes()) if path.exists() else None


def test_language_servers_are_offered_and_asked_about(home: Path) -> None:
    install(home, "ruff", "pyright-langserver", "pylsp", "typescript-language-server")
    status, shown = on_terminal(home, ["y\n", "n\n"])
    assert (status, named_servers(home)) == (0, None)
    assert "ruff, pyright and typescript can tell the agent what an edit broke." in shown
    status, shown = on_terminal(home, ["y\n"])  # the host is configured already
    assert status == 0
    named = named_servers(home)
    assert named is not None
    assert [server["name"] for server in named] == ["ruff", "pyright", "typescript"]
    assert named[0]["command"] == [str(home / "bin" / "ruff"), "server"]
    path = str(home / ".config" / "fileops" / "language-servers.json")
    assert read_language_servers(path, [str(home.parent / "project")]) == named
    assert "what an edit broke" not in on_terminal(home, [])[1]


def test_language_servers_are_named_without_a_terminal_only_on_request(home: Path) -> None:
    install(home, "ruff")
    done = write(home, "codex", "--yes")
    assert (done.returncode, named_servers(home)) == (0, None)
    assert "ruff can tell the agent what an edit broke: add --language-servers to use them." in done.stdout
    done = write(home, "codex", "--yes", "--language-servers")
    assert done.returncode == 0
    named = named_servers(home)
    assert named is not None
    assert [server["name"] for server in named] == ["ruff"]


def test_list_of_language_servers_that_the_user_has_stays(home: Path) -> None:
    install(home, "ruff")
    path = home / ".config" / "fileops" / "language-servers.json"
    path.parent.mkdir(parents=True)
    path.write_text("[]  \n")
    done = write(home, "codex", "--yes", "--language-servers")
    assert (done.returncode, path.read_text()) == (0, "[]  \n")
    assert "ruff" not in done.stdout


def test_language_servers_of_a_project_are_not_offered(home: Path) -> None:
    install(home, "ruff")
    (home / "bin" / "ruff").unlink()
    assert "ruff" not in write(home, "codex", "--yes", "--language-servers").stdout
    (home / "bin" / "ruff").symlink_to(home.parent / "project" / "bin" / "ruff")
    assert "ruff" not in write(home, "codex", "--yes", "--language-servers").stdout
    assert named_servers(home) is None


def test_config_of_codex_is_written_to_codex_home(home: Path) -> None:
    where = {**environment(home), "CODEX_HOME": str(home / "elsewhere")}
    subprocess.run(command("codex", "--yes"), env=where, cwd=home, check=True, capture_output=True, timeout=50)
    assert sorted(os.listdir(home / "elsewhere")) == ["config.toml", "hooks.json"]
    assert not (home / ".codex").exists()


def test_file_changed_by_another_program_before_the_write_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}", encoding="utf-8")
    file = settings_file.read(str(path))
    path.write_text('{"theirs": 1}', encoding="utf-8")
    with pytest.raises(settings_file.UnusableFile, match="changed by another program"):
        settings_file.replace(file, '{"ours": 1}')
    assert snapshot(tmp_path) == {str(path): b'{"theirs": 1}'}


@pytest.mark.parametrize("is_removed", [False, True])
def test_file_changed_at_the_moment_of_the_write_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_removed: bool
) -> None:
    """Another program saves between the last look at the file and the call that replaces or moves it."""
    path = tmp_path / "settings.json"
    path.write_text("{}", encoding="utf-8")
    file = settings_file.read(str(path))
    look, n_looks = settings_file.read, 0

    def look_and_save(name: str) -> settings_file.SettingsFile:
        nonlocal n_looks
        seen, n_looks = look(name), n_looks + 1
        if n_looks == 1:
            path.write_text('{"theirs": 1}', encoding="utf-8")
        return seen

    monkeypatch.setattr(settings_file, "read", look_and_save)
    with pytest.raises(settings_file.UnusableFile, match="changed by another program"):
        settings_file.remove(file) if is_removed else settings_file.replace(file, '{"ours": 1}')
    assert snapshot(tmp_path) == {str(path): b'{"theirs": 1}'}


def test_file_created_by_another_program_before_the_write_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    file = settings_file.read(str(path))
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(settings_file.UnusableFile, match="changed by another program"):
        settings_file.replace(file, '{"ours": 1}')
    assert snapshot(tmp_path) == {str(path): b"{}"}


LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""


def limited(home: Path, n_bytes: int, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command that can write no file longer than that."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(n_bytes), *command],
        cwd=home.parent / "project",
        env=environment(home) | {"PYTHONDONTWRITEBYTECODE": "1"},  # Python 3.11 would leave half of a module
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
        timeout=50,
    )


def test_file_stays_as_it_is_where_its_change_cannot_be_recorded(home: Path) -> None:
    """Else --remove would not know the new text for ours. The record is longer than the file, and reaches a limit."""
    settings = home / ".config" / "zed" / "settings.json"
    assert write(home, "zed", "--yes").returncode == 0
    before = snapshot(home)
    record = home / ".local" / "state" / "fileops-server" / "host-settings.json"
    assert record.stat().st_size > 2 * settings.stat().st_size
    again = command("zed", "--yes", "--replace", "--command", "another-program")
    done = limited(home, 2 * settings.stat().st_size, again)
    assert done.returncode == 1
    assert "host-settings.json" in done.stderr
    assert snapshot(home) == before


def test_change_that_could_not_be_written_is_not_recorded(home: Path) -> None:
    """Else --remove would take out what the user writes there later."""
    settings = home / ".config" / "zed" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"long": "x" * 100_000}))
    before = snapshot(home)
    done = limited(home, 50_000, command("zed", "--yes"))
    assert done.returncode == 1
    assert "settings.json cannot be written: File too large" in done.stderr
    assert snapshot(home) == before


def test_byte_order_mark_is_kept(home: Path) -> None:
    path = home.parent / "project" / "opencode.json"
    path.write_bytes(b'\xef\xbb\xbf{"theme": "x"}\n')
    assert write(home, "opencode", "--project", "--yes").returncode == 0
    assert path.read_bytes().startswith(b'\xef\xbb\xbf{"theme": "x", "mcp": {')
