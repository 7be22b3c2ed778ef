"""15 agents share a tree: those of a barrier read, then all edit at once. What landed and is gone is lost."""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.reliability.contenders import SHARED_TREE, Contender
from bench.reliability.host import AGAIN
from bench.reliability.scenario import EditCall, Task, Tree
from bench.reliability.tokens import count_shown

MAX_CALLS = 8
_PAUSE_S = 0.03  # longer before each further call
_JOIN_S = 120


@dataclass(kw_only=True)
class TreeResult:
    """n_first: tasks that landed at the first call. tokens: of all edits and repeated reads."""

    n_tasks: int
    n_first: int = 0
    landed: set[int] = field(default_factory=set[int])
    lost: set[int] = field(default_factory=set[int])
    n_calls: int = 0
    tokens: int = 0


def share(tool: Contender, tree: Tree, folder: Path) -> TreeResult:
    for name, text in tree.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    result = TreeResult(n_tasks=len(tree.tasks))
    lock = threading.Lock()
    for barrier in range(len(tree.widths)):
        tasks = [task for task in tree.tasks if task.barrier == barrier]
        gate = threading.Barrier(len(tasks))
        agents = [threading.Thread(target=_work, args=(tool, folder, task, gate, result, lock)) for task in tasks]
        for agent in agents:
            agent.start()
        for agent in agents:
            agent.join(_JOIN_S)
        texts = {name: (folder / name).read_text(encoding="utf-8") for name in tree.files}
        result.lost |= {
            task.task
            for task in tree.tasks
            if task.task in result.landed
            and not result.landed.intersection(task.gone)
            and task.mark not in texts[task.file]
        }
    return result


def _work(
    tool: Contender, folder: Path, task: Task, gate: threading.Barrier, result: TreeResult, lock: threading.Lock
) -> None:
    agent, path = f"{SHARED_TREE}{task.agent}", str(folder / task.file)
    call = EditCall(task.old, task.new)
    tool.read(agent, path)
    gate.wait()
    for attempt in range(MAX_CALLS):
        time.sleep(_PAUSE_S * attempt)
        said = tool.call(agent, path, call)
        with lock:
            result.n_calls += 1
            result.tokens += count_shown(said.sent + said.text, folder)
            if said.is_ok:
                result.landed.add(task.task)
                result.n_first += attempt == 0
        if said.is_ok:
            return
        if not AGAIN.search(said.text):
            read = tool.read(agent, path)
            with lock:
                result.n_calls += 1
                result.tokens += count_shown(read.sent + read.text, folder)
