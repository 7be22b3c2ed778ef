"""Approval policy: before which writes the user is asked, and which files are protected."""

from functools import lru_cache

from fileops.core import text
from fileops.core.ignore import FILE_NAME
from fileops.core.review.changes import changes_of
from fileops.core.roots import Roots, is_inside
from fileops.core.splices import apply
from fileops.model.approval import Decision, Modify, Once, SomeChanges
from fileops.model.edits import Plan
from fileops.model.files import Snapshot
from fileops.model.settings import ApprovalMode

# Files that other programs execute or obey when a user merely opens a shell, an editor or a repository, or starts an
# agent. An agent that could write its host's settings could remove the permissions and hooks that restrict it. Files
# that agents only read as advice (AGENTS.md, CLAUDE.md) are not protected.
PROTECTED_FOLDERS = (
    (".git",), (".vscode",), (".idea",), (".github", "workflows"), (".vim",), (".emacs.d",), (".config", "nvim"),
    (".config", "fish"), (".zed",), (".config", "zed"), (".devcontainer",), (".husky",),
    (".claude",), (".claude-plugin",), (".codex",), (".gemini",), (".cursor",), (".opencode",), (".config", "opencode"),
    (".copilot",), (".github", "hooks"),
)  # fmt: skip
PROTECTED_NAMES = frozenset({
    ".git", ".profile", ".login", ".logout", ".inputrc",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", "config.fish",
    ".xinitrc", ".xprofile", ".xsession", ".xsessionrc",
    ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".ideavimrc", ".emacs", ".nanorc",
    FILE_NAME, ".mcp.json", ".claude.json", "opencode.json", "opencode.jsonc", ".devcontainer.json",
})  # fmt: skip
# Of a Claude Code plugin, in the folder of the plugin, and of Antigravity.
PROTECTED_ENDS = frozenset({("hooks", "hooks.json"), (".agents", "hooks.json"), (".agents", "mcp_config.json")})
# Hosts create work trees in their own folders (`.claude/worktrees/NAME`). A file there is a file of the project.
HOSTS_WITH_WORKTREES = frozenset({".claude", ".codex", ".cursor", ".gemini"})
WORKTREES = "worktrees"


def needs_decision(mode: ApprovalMode, snapshot: Snapshot, roots: Roots | None, client_can_ask: bool) -> bool:
    """Return whether the user decides before this file is written. A client that cannot ask is never asked.

    About a file that says what agents must not read, the user is asked in every mode. Otherwise an agent could edit it
    and read the rest.
    """
    if not client_can_ask:
        return False
    if is_rule_file(snapshot.path):
        return True
    if mode == "yolo":
        return False
    return mode == "default" or is_protected(snapshot.path, roots) or _has_other_names(snapshot)


def is_rule_file(path: str) -> bool:
    """Return whether the file says what agents must not read."""
    return path.rpartition("/")[2].casefold() == FILE_NAME


def _has_other_names(snapshot: Snapshot) -> bool:
    """Return whether the file has other hard links. Their names are unknown, so one of them may be protected."""
    return snapshot.stamp is not None and snapshot.stamp.n_links > 1


def is_protected(canonical_path: str, roots: Roots | None) -> bool:
    """Return whether other programs execute or obey the file.

    Below a workspace folder only the rest of the path counts, because the user opened that folder. Names are compared
    without case, as some filesystems do.
    """
    path = canonical_path
    containing = [root for root in (roots.folders if roots else ()) if is_inside(root, path)]
    if containing:
        path = path[len(min(containing, key=len)) :]
    folder, _, name = path.rstrip("/").rpartition("/")
    return is_protected_in(folder, name)


def is_protected_in(folder: str, name: str) -> bool:
    """Return whether other programs execute or obey the file of this name. folder: below the workspace folder."""
    name = name.casefold()
    if name in PROTECTED_NAMES or name.startswith(".env"):
        return True
    is_protected_folder, last = _read_folder(folder)
    return (last, name) in PROTECTED_ENDS or (bool(name) and is_protected_folder)


@lru_cache(maxsize=4096)  # a start of the record asks for each of 50,000 files
def _read_folder(path: str) -> tuple[bool, str]:
    """Return whether a folder is protected, and its name without case."""
    path = path.casefold()
    return _is_protected_folder(path), path.rpartition("/")[2]


def _is_protected_folder(path: str) -> bool:
    folders = _without_worktrees(tuple(name for name in path.split("/") if name))
    return any(
        folders[at : at + len(protected)] == protected
        for protected in PROTECTED_FOLDERS
        for at in range(len(folders) - len(protected) + 1)
    )


def _without_worktrees(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders without those in which hosts keep work trees; what is above and below them still counts."""
    return tuple(
        name
        for at, name in enumerate(folders)
        if not (name in HOSTS_WITH_WORKTREES and folders[at + 1 : at + 2] == (WORKTREES,))
    )


def simplify(decision: Decision, plan: Plan) -> Decision:
    """Return Once if the user's text or choice of parts equals the proposal, else the decision."""
    match decision:
        case Modify(user_text):
            proposed = text.decode(apply(plan.snapshot.data, plan.splices), plan.format)
            is_whole = _as_read(user_text) == _as_read(proposed)
        case SomeChanges(change_ids):
            is_whole = set(change_ids) == {change.id for change in changes_of(plan)}
        case _:
            is_whole = False
    return Once() if is_whole else decision


def _as_read(shown: str) -> str:
    return shown.removeprefix("\ufeff").replace("\r\n", "\n")
