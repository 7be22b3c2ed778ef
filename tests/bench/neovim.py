"""What a key costs in Neovim beside 1,000 changes that are not kept: python tests/bench/neovim.py [N_CHANGES].

Three Neovims show the same text in a terminal: one is attached to a daemon that has the changes, one has the plugin
off, and one has a language server instead, which answers nothing. They are typed into in turn, and the processor time
of each Neovim is read from itself. The daemon runs at its own place and is ended.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from clients.neovim.terminal import Terminal, terminal
from clients.neovim.world import neovim
from fileops_client import FileOpsClient
from support.daemon_process import place

N_LINES = 10_000
N_READ = 2_000  # of the lines at once
N_TURNS = 8
LETTERS = "the quick brown fox jumps over the lazy dog and back"
USED_MS = """luaeval('(function()
local used = vim.uv.getrusage()
return (used.utime.sec + used.stime.sec) * 1e3 + (used.utime.usec + used.stime.usec) / 1e3
end)()')""".replace("\n", " ")
SILENT_SERVER = """lua vim.api.nvim_create_autocmd('BufReadPost', { callback = function(event)
  vim.lsp.start({ name = 'silent', root_dir = vim.fn.getcwd(), cmd = function()
    local is_closing = false
    local answers = { initialize = { capabilities = { textDocumentSync = { openClose = true, change = 2 } } } }
    return {
      request = function(method, _, callback)
        vim.schedule(function() callback(nil, answers[method]) end)
        return true, 1
      end,
      notify = function() return true end,
      is_closing = function() return is_closing end,
      terminate = function() is_closing = true end,
    }
  end }, { bufnr = event.buf })
end })""".replace("\n", " ")
ATTACHED = "luaeval('#vim.lsp.get_clients({ bufnr = 0 })')"
MARKED = "luaeval('#require(\"fileops.unkept.marks\").lines(vim.api.nvim_get_current_buf())')"


async def main() -> None:
    n_changes = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with place() as here, tempfile.TemporaryDirectory(prefix="fo-") as folder:
        os.environ.update(here.env)
        here.start()
        project, other = Path(folder) / "project", Path(folder) / "other"
        for each in (project, other):
            (each / ".git").mkdir(parents=True)
            (each / "text.txt").write_text("".join(f"<{number}> a line\n" for number in range(N_LINES)))
        text = project / "text.txt"
        async with FileOpsClient.attach(socket=str(here.socket), root=project, host="agent") as agent:
            for first in range(1, N_LINES, N_READ):
                await agent.read(text, offset=first, limit=N_READ)
            places = range(0, N_LINES, N_LINES // n_changes)
            edits = [(f"<{number}> a line\n", f"<{number}> a changed line\n") for number in places]
            result = await agent.multi_edit(text, edits, timeout_s=300)
            assert result.ok, result.output
        (other / "text.txt").write_text(text.read_text())
        nvim = neovim("new", Path(folder))
        attached: dict[str, object] = {"cmd": [sys.executable, "-m", "fileops"], "server": {"ask": "never"}}
        with (
            terminal(nvim, project, *_settings(attached), "text.txt", name="with") as marked,
            terminal(nvim, other, *_settings({"autostart": False}), "text.txt", name="without") as plain,
            terminal(
                nvim, other, *_settings({"autostart": False}), "--cmd", SILENT_SERVER, "text.txt", name="server"
            ) as served,
        ):
            await asyncio.to_thread(marked.until, f"{MARKED} == {n_changes}")
            await asyncio.to_thread(served.until, f"{ATTACHED} == 1")
            shown = {
                f"with {n_changes:,} changes": marked,
                "without the plugin": plain,
                "with a language server instead": served,
            }
            await asyncio.to_thread(_measure, shown)


def _settings(given: dict[str, object]) -> tuple[str, str]:
    return "--cmd", f"lua vim.g.fileops = vim.json.decode([==[{json.dumps(given)}]==])"


def _measure(shown: dict[str, Terminal]) -> None:
    costs: dict[str, list[float]] = {name: [] for name in shown}
    for turn in range(N_TURNS + 1):
        for name, one in shown.items():
            cost = _typed(one, N_LINES // 2 + turn)
            if turn:  # the first one loads what typing needs
                costs[name].append(cost)
    marked, *others = costs.items()
    for name, values in costs.items():
        median, least = statistics.median(values), min(values)
        sys.stdout.write(f"a key {name}: median {median:.3f} ms, {least:.3f} to {max(values):.3f} ms\n")
    for name, values in others:
        ratios = [one / other for one, other in zip(marked[1], values, strict=True)]
        median, least = statistics.median(ratios), min(ratios)
        sys.stdout.write(f"ratio of turns to {name}: median {median:.2f}, {least:.2f} to {max(ratios):.2f}\n")


def _typed(shown: Terminal, line: int) -> float:
    """The processor time of each letter that is typed at the end of a line, in milliseconds."""
    shown.keys(*f"{line}GA")
    shown.until("mode() ==# 'i'")
    before = float(shown.ask(USED_MS))
    for letter in LETTERS:  # each by itself, so that it is drawn
        shown.keys("Space" if letter == " " else letter)
    shown.until(f"getline('.') =~# '{LETTERS}$'")
    cost = (float(shown.ask(USED_MS)) - before) / len(LETTERS)
    shown.keys("Escape")
    shown.until("mode() ==# 'n'")
    return cost


if __name__ == "__main__":
    asyncio.run(main())
