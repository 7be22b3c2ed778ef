"""Counts how many edits of stale files a git repository's real history would let through, by rule.

    python tests/replay/share_of_rebased_edits.py REPOSITORY... [--files N] [--seed N]

Three successive versions of a file: the agent has read the first (*base*), another commit made the second (*present*),
and the hunks of the third are the agent's edits, each quoted from the second with as little context as makes it unique.
An edit is *quotable* if its text was in what the agent had read. Each edit that the rule of `core/merge/relevance.py`
lets through must give the same bytes as the edit of the present version, and as `git merge-file` if that finds no
conflict (as in a block that moved); exit status 1 if one does not.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from fileops.core.merge.relevance import Carried, Replanned, carry, replan
from fileops.core.plan import plan
from fileops.core.splices import apply
from fileops.core.text import detect_format, is_binary
from fileops.model.edits import Edit, Plan, Relevance
from fileops.model.files import Base, Snapshot
from support.core_models import LIMITS, snapshot_of

_MAX_BYTES = 200_000
_MAX_CONTEXT_LINES = 12
_MARGINS = (3, 1, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", metavar="REPOSITORY", nargs="+", type=Path)
    parser.add_argument("--files", metavar="N", type=int, default=400, help="triples of versions per repository")
    parser.add_argument("--seed", metavar="N", type=int, default=1)
    options = parser.parse_args()
    total = Counter[str]()
    for repository in options.repositories:
        counts = share(repository, options.files, options.seed)
        sys.stdout.write(f"{repository.name or repository}\t{_line(counts)}\n")
        total += counts
    sys.stdout.write(f"all\t{_line(total)}\n")
    return 1 if total["differs"] else 0


def share(repository: Path, n_triples: int, seed: int = 1) -> Counter[str]:
    """Count the edits of up to `n_triples` triples of versions."""
    counts = Counter[str]()
    for base, present, wanted in _triples(repository, n_triples, seed):
        for edit in _edits(present, wanted):
            counts["hunks"] += 1
            if edit.old_string.encode() in base:
                counts["quotable"] += 1
                _judge(base, present, edit, counts)
    return counts


def _judge(base: bytes, present: bytes, edit: Edit, counts: Counter[str]) -> None:
    known = Base(content=base, shown=base)
    outcome = replan(known, snapshot_of(present), lambda snapshot: _plan(snapshot, edit))
    direct = apply(present, _plan(snapshot_of(present), edit).splices)
    if isinstance(outcome, Relevance):
        counts[outcome.reason] += 1
        if outcome.reason != "near":
            return
    then = _plan(snapshot_of(base), edit).splices
    for margin_lines in _MARGINS:
        carried = carry(known, present, then, margin_lines=margin_lines)
        same = isinstance(carried, Carried) and apply(present, carried.splices) == direct
        counts[f"applied with {margin_lines}"] += same
    if isinstance(outcome, Replanned):
        result = apply(present, outcome.plan.splices)
        merge = merged(base, apply(base, then), present)
        counts["conflicts for git"] += merge is None  # a block that moved, or a formatter's change
        counts["differs"] += result != direct or merge not in {None, result}


def _plan(snapshot: Snapshot, edit: Edit) -> Plan:
    return plan(snapshot, detect_format(snapshot.data), (edit,), limits=LIMITS)


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The result of `git merge-file`, None if it conflicts."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, content in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(content)
        merge = subprocess.run(["git", "merge-file", "-p", "-q", *map(str, paths)], capture_output=True, check=False)
    return None if merge.returncode else merge.stdout


def _edits(present: bytes, wanted: bytes) -> Iterator[Edit]:
    """The hunks from present to wanted, each with as little context as makes its text unique in present."""
    old, new = present.splitlines(keepends=True), wanted.splitlines(keepends=True)
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for n_context in range(_MAX_CONTEXT_LINES):
            a, b = max(0, i - n_context), min(len(old), j + n_context)
            text = b"".join(old[a:b])
            if text and present.count(text) == 1 and present.find(text, present.find(text) + 1) < 0:
                replacement = b"".join((*old[a:i], *new[k:m], *old[j:b]))
                yield Edit(old_string=text.decode(), new_string=replacement.decode())
                break


def _triples(repository: Path, n_triples: int, seed: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Three successive versions of text files with LF line ends."""
    log = _git(repository, "log", "--no-merges", "--format=C%H", "--name-only", "-n", "4000")
    commits: dict[str, list[str]] = defaultdict(list)
    commit = ""
    for line in log.decode("utf-8", "replace").splitlines():
        if line.startswith("C") and len(line) == 41:
            commit = line[1:]
        elif line:
            commits[line].append(commit)
    triples = [(path, *hashes[n : n + 3]) for path, hashes in commits.items() for n in range(len(hashes) - 2)]
    random.Random(seed).shuffle(triples)
    for path, newest, middle, oldest in triples[:n_triples]:
        versions = [_git(repository, "show", f"{commit}:{path}") for commit in (oldest, middle, newest)]
        if all(map(_is_usable, versions)) and versions[0] != versions[1] != versions[2]:
            yield versions[0], versions[1], versions[2]


def _is_usable(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    is_plain = 0 < len(content) <= _MAX_BYTES and b"\r" not in content
    return is_plain and not is_binary(content, detect_format(content))


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, check=False).stdout


def _line(counts: Counter[str]) -> str:
    n = max(counts["quotable"], 1)
    shares = ", ".join(
        f"{counts[f'applied with {margin}']} ({100 * counts[f'applied with {margin}'] / n:.1f} %) with {margin}"
        for margin in _MARGINS
    )
    reasons = ("near", "elsewhere", "count", "no_match_now", "no_match_then", "format", "too_large")
    refused = ", ".join(f"{counts[reason]} {reason}" for reason in reasons if counts[reason])
    return (
        f"{counts['hunks']} hunks, {counts['quotable']} quotable; applied: {shares}; refused with 3: "
        f"{refused or 'none'}; {counts['differs']} differ"
    )


if __name__ == "__main__":
    sys.exit(main())
