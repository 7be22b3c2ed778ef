from fileops.core import text
from fileops.core.roots import Roots, is_inside
from fileops.core.splices import apply
from fileops.model.approval import Decision, Modify, Once, SomeHunks
from fileops.model.edits import Plan
from fileops.model.files import Snapshot
from fileops.model.settings import ApprovalMode

# Files that other programs execute or obey when a person merely opens a shell, an editor or a repository.
PROTECTED_FOLDERS = ((".git",), (".vscode",), (".idea",), (".github", "workflows"), (".vim",), (".emacs.d",),
                     (".config", "nvim"), (".config", "fish"))  # fmt: skip
PROTECTED_NAMES = frozenset({
    ".git", ".profile", ".login", ".logout", ".inputrc",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", "config.fish",
    ".xinitrc", ".xprofile", ".xsession", ".xsessionrc",
    ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".ideavimrc", ".emacs", ".nanorc",
})  # fmt: skip


def needs_decision(mode: ApprovalMode, snapshot: Snapshot, roots: Roots | None, client_can_ask: bool) -> bool:
    """Whether a person decides before this file is written. A client that cannot ask is never asked."""
    if mode == "yolo" or not client_can_ask:
        return False
    return mode == "default" or is_protected(snapshot.path, roots) or _has_other_names(snapshot)


def _has_other_names(snapshot: Snapshot) -> bool:
    """Whether the file is hard-linked: no filesystem tells by which names, so one of them may be protected."""
    return snapshot.stamp is not None and snapshot.stamp.n_links > 1


def is_protected(canonical_path: str, roots: Roots | None) -> bool:
    """Below a workspace folder only the part below it counts: the person opened that folder himself.

    Names are compared without case, for file systems that do the same.
    """
    path = canonical_path
    holding = [root for root in (roots.folders if roots else ()) if is_inside(root, path)]
    if holding:
        path = path[len(min(holding, key=len)) :]
    names = tuple(name.casefold() for name in path.split("/") if name)
    if not names:
        return False
    if names[-1] in PROTECTED_NAMES or names[-1].startswith(".env"):
        return True
    folders = names[:-1]
    return any(
        folders[at : at + len(protected)] == protected
        for protected in PROTECTED_FOLDERS
        for at in range(len(folders) - len(protected) + 1)
    )


def simplified(decision: Decision, plan: Plan) -> Decision:
    """Once, where the person's own text or his choice of hunks comes to the proposal as it is."""
    match decision:
        case Modify(person_text):
            proposed = text.decode(apply(plan.snapshot.data, plan.splices), plan.format)
            is_whole = _as_read(person_text) == _as_read(proposed)
        case SomeHunks(hunk_ids):
            is_whole = not plan.change.truncated and set(hunk_ids) == {hunk.id for hunk in plan.change.hunks}
        case _:
            is_whole = False
    return Once() if is_whole else decision


def _as_read(shown: str) -> str:
    return shown.removeprefix("\ufeff").replace("\r\n", "\n")
