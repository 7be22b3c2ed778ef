"""The script that plays the host, in the place of a model: it sends the call, and after a refusal what the answer says.

"The same call again" is sent again if the table says that it is still right. A text in a fence, a numbered line or a
diff of the answer may be used to make the call that leads to the goal. An answer that shows nothing usable costs a
read. The script knows the goal and a model has to find it, so "by the second call" is an upper bound for everyone.
"""

import difflib
import itertools
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.reliability.contenders import Contender, Said
from bench.reliability.scenario import (
    Call,
    EditCall,
    MultiCall,
    PatchCall,
    PatchHunk,
    Scenario,
    Verdict,
    WriteCall,
    as_lf,
    as_pairs,
    to_bytes,
    to_text,
)
from bench.reliability.tokens import count_shown

AGAIN = re.compile(r"same call|(send|sent) it again|sent again|again if it is still right", re.IGNORECASE)
_ORDER = re.compile(r"in the order of|numbers after")
_FENCE = re.compile(r"(?ms)^(`{3,})[^\n`]*\n(.*?)\n\1[ \t]*$")
_NUMBERED = re.compile(r"^ *(\d+)[→\t](.*)$")
_SETTLE_S = 0.012  # another program's write has another mtime than the read
_MAX_LINES_AROUND = 8


@dataclass(kw_only=True)
class Case:
    """What happened. first, last: of the first call and at the end. at: the call that decided. sent, got: tokens."""

    id: str
    group: str
    kind: str
    has_goal: bool
    first: Verdict = "refused"
    last: Verdict = "not landed"
    at: int = 0
    sent: int = 0
    got: int = 0
    log: list[Said] = field(default_factory=list[Said])


def play(tool: Contender, scenario: Scenario, folder: Path, number: int) -> Case:
    """Play one scenario. folder: the root of the tool; number: of the scenario, for names of its own."""
    return _Play(tool, scenario, folder, number).run()


class _Play:
    def __init__(self, tool: Contender, scenario: Scenario, root: Path, number: int) -> None:
        self._tool, self._scenario, self._root = tool, scenario, root
        self._agent, self._other = f"s{number}", f"o{number}"
        self._file = root / str(number) / scenario.path
        self._path = str(self._file)
        self._case = Case(id=scenario.id, group=scenario.group, kind=scenario.kind, has_goal=scenario.goal is not None)
        goal = () if scenario.goal is None else (scenario.goal,)
        self._ends = (*scenario.right, *goal)

    def run(self) -> Case:
        case, scenario = self._case, self._scenario
        self._file.parent.mkdir(parents=True)
        self._file.write_bytes(to_bytes(scenario.before))
        if scenario.read != "none":
            case.log.append(
                self._tool.read(self._agent, self._path, None if scenario.read == "whole" else scenario.read)
            )
        time.sleep(_SETTLE_S)
        self._let_others_write()
        said = self._send(scenario.call)
        present = self._present()
        if said.is_ok or (present != scenario.now and not self._is_partly_done(present)):
            is_right = present in self._ends or (scenario.id == "no-change" and present == scenario.now)
            case.first = case.last = "right" if is_right else "wrong"
            case.at = 1
        elif scenario.goal is None:  # nothing is left to do
            case.last, case.at = "right", 1
        else:
            self._go_on(said, present or "", scenario.goal)
        return case

    def _let_others_write(self) -> None:
        scenario, file, now = self._scenario, self._file, self._scenario.now
        match scenario.how:
            case "delete":
                file.unlink()
            case "touch":
                os.utime(file)
            case "revert":
                file.write_bytes(b"temporary\n")
                time.sleep(_SETTLE_S)
                file.write_bytes(to_bytes(scenario.before))
            case "rename":
                beside = file.with_name(".new")
                beside.write_bytes(to_bytes(now or ""))
                os.replace(beside, file)
            case "write" if now is not None and now != scenario.before:
                if scenario.by == "agent" and self._tool.shares_knowledge:
                    self._let_agent_write(now)
                else:
                    file.write_bytes(to_bytes(now))
            case "write":
                return
        assert now is None or file.read_bytes() == to_bytes(now), scenario.id

    def _let_agent_write(self, now: str) -> None:
        self._tool.read(self._other, self._path)
        call = call_to(self._scenario.before, now, [as_lf(self._scenario.before)])
        assert call is not None
        said = self._tool.call(self._other, self._path, call)
        assert said.is_ok, said.text

    def _go_on(self, refused: Said, here: str, goal: str) -> None:
        """Make the second call out of the answer, or a third after a read."""
        scenario, case = self._scenario, self._case
        shown = pieces(refused.text)
        works: list[str] = []
        if isinstance(scenario.call, MultiCall):
            works = [old for old, _ in scenario.call.edits if as_lf(scenario.now or "").count(old) == 1]
        call: Call | None = None
        if scenario.same and AGAIN.search(refused.text):
            call = scenario.call
        elif shown:
            call = call_to(here, goal, shown, works)
        if call is None and isinstance(scenario.call, PatchCall) and _ORDER.search(refused.text):
            call = repatched(scenario.call, here)
        if call is not None and self._ends_with(call, here):
            case.at = 2
            return
        case.at = 3
        self._count(self._tool.read(self._agent, self._path))
        by_goal = call_to(here, goal, [as_lf(here)])
        if isinstance(scenario.call, WriteCall):
            self._ends_with(WriteCall(as_lf(goal)), here)
        elif not (scenario.same and not self._tool.splits and self._ends_with(scenario.call, here)):
            assert by_goal is not None
            self._ends_with(by_goal, here)

    def _ends_with(self, call: Call, here: str) -> bool:
        """Send a call; whether it decided the scenario."""
        said = self._send(call)
        present = self._present()
        if not said.is_ok and present in {self._scenario.now, here}:
            return False
        self._case.last = "right" if present in self._ends else "wrong"
        return True

    def _send(self, call: Call) -> Said:
        return self._count(self._tool.call(self._agent, self._path, call))

    def _count(self, said: Said) -> Said:
        self._case.sent += count_shown(said.sent, self._root)
        self._case.got += count_shown(said.text, self._root)
        self._case.log.append(said)
        return said

    def _present(self) -> str | None:
        return to_text(self._file.read_bytes()) if self._file.exists() else None

    def _is_partly_done(self, present: str | None) -> bool:
        """Whether a tool with a call for each edit has made the first ones."""
        call, text = self._scenario.call, as_lf(self._scenario.now or "")
        if not self._tool.splits or isinstance(call, WriteCall):
            return False
        for old, new in as_pairs(call):
            if text.count(old) != 1:
                return False
            text = text.replace(old, new)
            if as_lf(present or "") == text:
                return True
        return False


def pieces(answer: str) -> list[str]:
    """Texts of the file that an answer shows: fences, runs of numbered lines, present lines of a diff."""
    found = [match[2] for match in _FENCE.finditer(answer)]
    run: list[str] = []
    last = 0
    diff: list[str] | None = None
    for line in (*answer.split("\n"), ""):
        numbered = _NUMBERED.match(line)
        if numbered and (not run or int(numbered[1]) == last + 1):
            run.append(numbered[2])
        else:
            found += ["\n".join(run)] if run else []
            run = [numbered[2]] if numbered else []
        last = int(numbered[1]) if numbered else 0
        if line.startswith("@@"):
            found += ["\n".join(diff)] if diff else []
            diff = []
        elif diff is not None and line[:1] in {" ", "+"}:
            diff.append(line[1:])
        elif diff is not None and line[:1] != "-":
            found += ["\n".join(diff)] if diff else []
            diff = None
    return [piece for piece in found if piece.strip()]


def n_places(text: str, part: str) -> int:
    """Count the occurrences, with those that overlap."""
    n, at = 0, text.find(part) if part else -1
    while at >= 0:
        n, at = n + 1, text.find(part, at + 1)
    return n


def call_to(now: str, goal: str, shown: Sequence[str], works: Sequence[str] = ()) -> EditCall | MultiCall | None:
    """Return the call from the present text to the goal, made of texts that were shown; None if they do not suffice.

    works: further texts of the caller that are known to be there.
    """
    now, goal = as_lf(now), as_lf(goal)
    for piece in sorted(shown, key=len):
        for old in (piece, f"{piece}\n"):
            if n_places(now, old) != 1 or len(piece) >= 400:
                continue
            before, after = now[: now.index(old)], now[now.index(old) + len(old) :]
            fits = len(before) + len(after) <= len(goal)
            if fits and goal.startswith(before) and goal.endswith(after):
                return EditCall(old, goal[len(before) : len(goal) - len(after)])
    old_lines, new_lines = now.splitlines(keepends=True), goal.splitlines(keepends=True)
    steps: list[tuple[str, str]] = []
    text = now
    for kind, start, stop, new_start, new_stop in difflib.SequenceMatcher(
        None, old_lines, new_lines, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            continue
        widths = sorted(itertools.product(range(_MAX_LINES_AROUND), repeat=2), key=sum)
        for up, down in widths:
            if start < up or stop + down > len(old_lines) or (start == stop and not up + down):
                continue
            old = "".join(old_lines[start - up : stop + down])
            if n_places(now, old) != 1 or n_places(text, old) != 1 or not _is_known(old, shown, works):
                continue
            above, below = "".join(old_lines[start - up : start]), "".join(old_lines[stop : stop + down])
            new = f"{above}{''.join(new_lines[new_start:new_stop])}{below}"
            steps.append((old, new))
            text = text.replace(old, new)
            break
        else:
            return None
    return EditCall(*steps[0]) if len(steps) == 1 else MultiCall(tuple(steps))


def _is_known(part: str, shown: Sequence[str], works: Sequence[str]) -> bool:
    lines = part.strip("\n")
    return any(f"\n{lines}\n" in f"\n{piece}\n" for piece in shown) or any(
        part.strip() in each or each in part for each in works
    )


def repatched(call: PatchCall, now: str) -> PatchCall:
    """The same hunks in the order of the file, with right numbers, as an answer may ask for."""
    lines = as_lf(now).split("\n")
    found: list[tuple[int, PatchHunk]] = []
    for hunk in call.hunks:
        old = [line[1:] for line in hunk.lines if line[:1] in {" ", "-", ""}]
        at = next((index for index in range(len(lines)) if lines[index : index + len(old)] == old), 0)
        n_new = sum(line[:1] != "-" for line in hunk.lines)
        found.append((at, PatchHunk(f"-{at + 1},{len(old)} +{at + 1},{n_new}", hunk.lines)))
    return PatchCall(tuple(hunk for _, hunk in sorted(found, key=lambda each: each[0])))
