"""What is measured, one function per scenario. Each makes its own files and takes all of its contenders in turn."""

import compileall
import json
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

import fileops
import fileops_client
from bench.contenders import McpFilesystem, McpTextEditor, Ours, Peers, Raw, RawDurable, StockPygls
from bench.measure import Result, Row, cpu_s, interleaved, peak_memory_kb, resident_kb
from bench.pipes import LspPipe
from bench.scale import s14_scale
from fileops.rpc.decode import decode
from fileops.rpc.messages import RpcRequest, parse
from fileops.wire.types import MultiEditParams
from fileops_client._process import DEFAULT_COMMAND

OURS, RAW, STOCK = Ours.name, Raw.name, StockPygls.name
Runs = int
IN_A_ROW = 5  # small requests, as an agent makes them in one turn
SETTLED_S = 2.5  # a file that another process wrote less than two seconds ago is committed with more care
CONTESTED = f"{OURS}, just written by another"


def _lines(n_lines: int, width: int = 40) -> str:
    """Source-like lines, each unique."""
    filler = "the quick brown fox jumps over the lazy dog " * 8
    return "".join(f"{n:07d} {filler[: width - 9]}\n" for n in range(n_lines))


def _file(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)


def _toggler(edit: Callable[[str, str], object], one: str, other: str) -> Callable[[], object]:
    """An edit that can be made for ever: there and back."""
    state = [one, other]

    def toggle() -> object:
        state.reverse()
        return edit(state[1], state[0])

    return toggle


# --- S1 -------------------------------------------------------------------------------------------------------


def s1_cold_start(folder: Path, runs: Runs, peers: Peers) -> Result:
    """Both sides with compiled bytecode, even with PYTHONDONTWRITEBYTECODE set; CPU beside wall time."""
    for package in (fileops, fileops_client):
        compileall.compile_dir(package.__path__[0], quiet=1)
    cpu: dict[str, list[float]] = {OURS: [], STOCK: []}
    path = _file(folder, "s1.txt", _lines(200))
    initialize = {"processId": None, "rootUri": None, "capabilities": json.loads(CAPABILITIES.read_text())}

    def ours() -> float:
        start = time.perf_counter()
        rpc = LspPipe(DEFAULT_COMMAND)
        rpc.call("initialize", initialize)
        rpc.notify("initialized", {})
        rpc.call("fileops/read", {"file_path": path})
        elapsed = time.perf_counter() - start
        cpu[OURS].append(cpu_s(rpc.pid))
        rpc.close()
        return elapsed

    def stock() -> float:
        start = time.perf_counter()
        rpc = LspPipe([sys.executable, str(Path(__file__).with_name("stock_pygls.py"))])
        rpc.call("initialize", initialize)
        rpc.notify("initialized", {})
        rpc.call("bench/echo", {})
        elapsed = time.perf_counter() - start
        cpu[STOCK].append(cpu_s(rpc.pid))
        rpc.close()
        return elapsed

    calls: dict[str, Callable[[], object]] = {OURS: ours, STOCK: stock}
    if peers.mcp_filesystem:
        command = peers.mcp_filesystem

        def mcp() -> float:
            start = time.perf_counter()
            peer = McpFilesystem(str(folder), command)
            peer.read(path)
            elapsed = time.perf_counter() - start
            peer.close()
            return elapsed

        calls[McpFilesystem.name] = mcp
    rows = interleaved(calls, n_rounds=max(5, runs // 10), n_warm=1)
    for row, times in zip(rows, cpu.values(), strict=False):
        row.notes["CPU"] = f"{1000 * statistics.median(times):.0f} ms"
    return Result(scenario="S1", title="cold start to the first read's answer", rows=rows, baseline=STOCK, target=1.2)


CAPABILITIES = Path(__file__).with_name("vscode_capabilities.json")


# --- S2, S3: reads -----------------------------------------------------------------------------------------------


def s2_warm_read(folder: Path, runs: Runs, peers: Peers) -> Result:
    path = _file(folder, "s2.txt", _lines(200))
    ours = Ours(str(folder))
    reply = ours.read(path)
    stock, raw = StockPygls(reply), Raw()
    calls: dict[str, Callable[[], object]] = {
        OURS: lambda: ours.read(path), STOCK: lambda: stock.echo({"file_path": path}), RAW: lambda: raw.read(path),
    }  # fmt: skip
    closing: list[Any] = [ours, stock]
    if peers.mcp_filesystem:
        mcp = McpFilesystem(str(folder), peers.mcp_filesystem)
        calls[McpFilesystem.name] = lambda: mcp.read(path)
        closing.append(mcp)
    if peers.mcp_text_editor:
        editor = McpTextEditor(peers.mcp_text_editor)
        calls[McpTextEditor.name] = lambda: editor.read(path, 1, 200)
        closing.append(editor)
    rows = interleaved(calls, n_rounds=runs * 2, n_warm=4, n_in_a_row=IN_A_ROW)
    _close(closing)
    return Result(scenario="S2", title="warm read of 200 lines", rows=rows, baseline=STOCK, target=0.6)


def s3_deep_read(folder: Path, runs: Runs, peers: Peers) -> Result:
    n_lines = 1_000_000
    path = _file(folder, "s3.txt", _lines(n_lines, 100))
    offset, limit = n_lines - 5000, 500
    raw = Raw()
    first, again = Row(contender=f"{OURS}, first"), Row(contender=f"{OURS}, again")
    scan = Row(contender="plain Python line scan")
    for _ in range(max(3, runs // 10)):
        ours = Ours(str(folder))
        first.times_s.append(_timed(lambda ours=ours: ours.read(path, offset, limit)))
        for _ in range(3):
            scan.times_s.append(_timed(lambda: raw.scan(path, offset, limit)))
            where = random.randrange(1, n_lines - limit)
            again.times_s.append(_timed(lambda ours=ours, where=where: ours.read(path, where, limit)))
        again.notes["peak memory"] = f"{peak_memory_kb(ours.rpc.pid) // 1024} MB"
        ours.close()
    rows = [first, again, scan]
    if peers.mcp_filesystem:
        mcp = McpFilesystem(str(folder), peers.mcp_filesystem)
        row = Row(contender=f"{McpFilesystem.name} (tail)")
        for _ in range(3):
            row.times_s.append(_timed(lambda: mcp.tail(path, limit)))
        rows.append(row)
        mcp.close()
    os.unlink(path)
    title = "read 500 lines near the end of 100 MB"
    return Result(scenario="S3", title=title, rows=rows, baseline="plain Python line scan", target=1.0)


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _close(contenders: list[Any]) -> None:
    for contender in contenders:
        contender.close()


# --- S4 to S8: edits ----------------------------------------------------------------------------------------------


def _edit_scenario(
    folder: Path,
    peers: Peers,
    text: str,
    one: str,
    other: str,
    *,
    n_rounds: int,
    replace_all: bool = False,
    with_floor: bool = False,
    n_in_a_row: int = 1,
) -> list[Row]:
    """The same edit, there and back, on a separate file for each contender.

    with_floor: raw with our syncs, and ours with more care, too.
    """
    ours, raw, durable = Ours(str(folder)), Raw(), RawDurable()
    names = (OURS, RAW, McpFilesystem.name, RawDurable.name)
    paths = {name: _file(folder, f"{n}.txt", text) for n, name in enumerate(names)}
    time.sleep(SETTLED_S)
    ours.read(paths[OURS], 1, 10)
    calls: dict[str, Callable[[], object]] = {
        OURS: _toggler(lambda old, new: ours.edit(paths[OURS], old, new, replace_all=replace_all), one, other),
        RAW: _toggler(lambda old, new: raw.edit(paths[RAW], old, new, replace_all=replace_all), one, other),
    }
    if with_floor:
        calls[RawDurable.name] = _toggler(lambda old, new: durable.edit(paths[RawDurable.name], old, new), one, other)
        paths[CONTESTED] = _file(folder, "contested.txt", text)
        ours.read(paths[CONTESTED], 1, 10)
        calls[CONTESTED] = _toggler(lambda old, new: ours.edit(paths[CONTESTED], old, new), one, other)
    closing: list[Any] = [ours]
    if peers.mcp_filesystem and not replace_all:
        mcp = McpFilesystem(str(folder), peers.mcp_filesystem)
        calls[McpFilesystem.name] = _toggler(lambda old, new: mcp.edit(paths[McpFilesystem.name], old, new), one, other)
        closing.append(mcp)
    rows = interleaved(calls, n_rounds=n_rounds, n_in_a_row=n_in_a_row)
    rows[0].notes["peak memory"] = f"{peak_memory_kb(ours.rpc.pid) // 1024} MB"
    _close(closing)
    for path in paths.values():
        os.unlink(path)
    return rows


def s4_small_edit(folder: Path, runs: Runs, peers: Peers) -> Result:
    rows = _edit_scenario(
        folder, peers, _lines(200), "0000100 the", "0000100 THE", n_rounds=runs, with_floor=True, n_in_a_row=IN_A_ROW
    )
    return Result(scenario="S4", title="edit in a 200-line file", rows=rows, baseline=RAW, target=2.0)


def s5_edit_5mb(folder: Path, runs: Runs, peers: Peers) -> Result:
    rows = _edit_scenario(folder, peers, _lines(50_000, 100), "0025000 the", "0025000 THE", n_rounds=max(7, runs // 4))
    return Result(scenario="S5a", title="edit in 5 MB", rows=rows, baseline=RAW, target=1.25)


def s5_edit_50mb(folder: Path, runs: Runs, peers: Peers) -> Result:
    rows = _edit_scenario(
        folder, peers, _lines(500_000, 100), "0250000 the", "0250000 THE", n_rounds=max(5, runs // 10)
    )
    return Result(scenario="S5b", title="edit in 50 MB", rows=rows, baseline=RAW, target=1.25)


def s6_fifty_edits(folder: Path, runs: Runs, peers: Peers) -> Result:
    ours, raw, text = Ours(str(folder)), Raw(), _lines(5000)
    paths = {name: _file(folder, f"s6-{n}.txt", text) for n, name in enumerate((OURS, RAW, McpFilesystem.name))}
    time.sleep(SETTLED_S)
    ours.read(paths[OURS], 1, 10)
    there = [(f"{n:07d} the", f"{n:07d} THE") for n in range(50, 5000, 100)]
    back = [(new, old) for old, new in there]

    def toggling(apply: Callable[[list[tuple[str, str]]], object]) -> Callable[[], object]:
        state = [back, there]

        def toggle() -> object:
            state.reverse()
            return apply(state[0])

        return toggle

    calls: dict[str, Callable[[], object]] = {
        OURS: toggling(lambda pairs: ours.edits(paths[OURS], pairs)),
        RAW: toggling(lambda pairs: raw.edits(paths[RAW], pairs)),
    }
    closing: list[Any] = [ours]
    if peers.mcp_filesystem:
        mcp = McpFilesystem(str(folder), peers.mcp_filesystem)
        calls[McpFilesystem.name] = toggling(lambda pairs: mcp.edits(paths[McpFilesystem.name], pairs))
        closing.append(mcp)
    rows = interleaved(calls, n_rounds=max(10, runs // 2))
    _close(closing)
    title = "50 edits in a 5,000-line file (one multiEdit; raw writes each)"
    return Result(scenario="S6", title=title, rows=rows, baseline=RAW, target=1.5)


def s7_many_hits(folder: Path, runs: Runs, peers: Peers) -> Result:
    text = "".join(f"{n:07d} needle {'x' * 83}\n" for n in range(20_000))
    rows = _edit_scenario(folder, peers, text, "needle", "NEEDLE", n_rounds=max(10, runs // 4), replace_all=True)
    title = "20,000 hits of replace_all in 2 MB"
    return Result(scenario="S7", title=title, rows=rows, baseline=RAW, target=6.0)


def s8_many_files(folder: Path, runs: Runs, peers: Peers) -> Result:
    del peers
    ours, raw, durable, text = Ours(str(folder)), Raw(), RawDurable(), _lines(200)
    mine, theirs, durables = ([_file(folder, f"s8-{who}{n}.txt", text) for n in range(100)] for who in "ord")
    time.sleep(SETTLED_S)
    for path in mine:
        ours.read(path)

    def thousand(edit: Callable[[str, str, str], object], paths: list[str]) -> Callable[[], object]:
        def run() -> object:
            for n in range(1000):
                old, new = ("the", "THE") if n // 100 % 2 == 0 else ("THE", "the")
                edit(paths[n % 100], f"0000050 {old}", f"0000050 {new}")
            return None

        return run

    calls = {
        OURS: thousand(ours.edit, mine), RAW: thousand(raw.edit, theirs),
        RawDurable.name: thousand(durable.edit, durables),
    }  # fmt: skip
    rows = interleaved(calls, n_rounds=max(2, runs // 25), n_warm=0)
    ours.close()
    title = "1,000 edits over 100 files, one after another"
    return Result(scenario="S8", title=title, rows=rows, baseline=RAW, target=2.0)


# --- throughput, decoding ------------------------------------------------------------------------------------------


def s9_pipelined(folder: Path, runs: Runs, peers: Peers) -> Result:
    del peers
    path = _file(folder, "s9.txt", _lines(5))
    ours = Ours(str(folder))
    stock = StockPygls(ours.read(path))
    n_requests = 500

    def pipelined(rpc: LspPipe, method: str) -> Callable[[], object]:
        def run() -> float:
            start = time.perf_counter()
            ids = {rpc.post(method, {"file_path": path}) for _ in range(n_requests)}
            while ids:
                message = rpc.receive()
                if "method" not in message:
                    ids.discard(message["id"])
            return (time.perf_counter() - start) / n_requests

        return run

    calls = {OURS: pipelined(ours.rpc, "fileops/read"), STOCK: pipelined(stock.rpc, "bench/echo")}
    rows = interleaved(calls, n_rounds=max(5, runs // 10), n_warm=1)
    _close([ours, stock])
    title = f"{n_requests} pipelined small reads, time of one"
    return Result(scenario="S9", title=title, rows=rows, baseline=STOCK, target=0.25)


def _params_of(body: bytes) -> object:
    return cast("RpcRequest", parse(body)).params


def s10_decode(folder: Path, runs: Runs, peers: Peers) -> Result:
    """In process: the bytes of a 60 kB request to checked values, against `json.loads` alone."""
    del folder, peers
    edits = [{"old_string": f"old text {n} " + "a" * 70, "new_string": f"new text {n} " + "b" * 70} for n in range(300)]
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "fileops/multiEdit", "params": {"file_path": "/a/b", "edits": edits}}
    ).encode()
    calls: dict[str, Callable[[], object]] = {
        OURS: lambda: decode(_params_of(body), MultiEditParams), "json.loads": lambda: json.loads(body),
        "msgspec.json.decode": lambda: msgspec.json.decode(body),
    }  # fmt: skip
    rows = interleaved(calls, n_rounds=runs * 10)
    rows[0].notes["request"] = f"{len(body) // 1000} kB"
    title = "decode a request with 300 edits"
    return Result(scenario="S10", title=title, rows=rows, baseline="json.loads", target=1.5)


# --- watching --------------------------------------------------------------------------------------------------------


def s11_stale(folder: Path, runs: Runs, peers: Peers) -> Result:
    del peers
    ours = Ours(str(folder))
    paths: list[str] = []
    for n in range(100):
        (folder / f"s11-{n}").mkdir()
        paths += [_file(folder / f"s11-{n}", f"{m}.txt", "one\ntwo\n") for m in range(10)]
    for path in paths:
        ours.read(path)
    row = Row(contender=OURS)
    for n in range(runs * 4):
        path = paths[n * 37 % len(paths)]
        ours.read(path)
        time.sleep(0.05)  # an idle moment, so that each change is seen for itself
        start = time.perf_counter()
        with open(path, "a", encoding="utf-8") as file:
            file.write("more\n")
        while ours.rpc.wait_for("fileops/didBecomeStale")["file_path"] != path:
            pass
        row.times_s.append(time.perf_counter() - start)
    before, start = cpu_s(ours.rpc.pid), time.perf_counter()
    time.sleep(5)
    row.notes["idle CPU"] = f"{100 * (cpu_s(ours.rpc.pid) - before) / (time.perf_counter() - start):.2f} % of a core"
    ours.close()
    return Result(
        scenario="S11", title="external change to didBecomeStale, 1,000 tracked files in 100 folders", rows=[row]
    )


def s12_many_tracked(folder: Path, runs: Runs, peers: Peers) -> Result:
    del peers
    few, many = Ours(str(folder)), Ours(str(folder))
    probe_few, probe_many = (_file(folder, f"s12-{n}.txt", _lines(200)) for n in ("few", "many"))
    few.read(probe_few)
    paths: list[str] = []
    for n in range(100):
        (folder / f"s12-{n}").mkdir()
        paths += [_file(folder / f"s12-{n}", f"{m}.txt", "one\n") for m in range(100)]
    for path in paths[:100]:
        many.read(path)
    before = resident_kb(many.rpc.pid)
    for n, path in enumerate(paths):
        many.read(path, session_id=f"session-{n % 100}")
    many.read(probe_many)
    per_file = (resident_kb(many.rpc.pid) - before) / len(paths)
    started, cpu = time.perf_counter(), cpu_s(many.rpc.pid)
    time.sleep(10)
    sweep = 100 * (cpu_s(many.rpc.pid) - cpu) / (time.perf_counter() - started)
    calls: dict[str, Callable[[], object]] = {
        f"{OURS}: read, 10,000 tracked": lambda: many.read(probe_many),
        f"{OURS}: read, one tracked": lambda: few.read(probe_few),
        f"{OURS}: edit, 10,000 tracked": _toggler(
            lambda a, b: many.edit(probe_many, a, b), "0000100 the", "0000100 THE"
        ),
        f"{OURS}: edit, one tracked": _toggler(lambda a, b: few.edit(probe_few, a, b), "0000100 the", "0000100 THE"),
    }
    rows = interleaved(calls, n_rounds=runs * 4)
    rows[0].notes |= {"memory per file": f"{per_file:.2f} kB", "idle CPU": f"{sweep:.2f} % of a core"}
    _close([few, many])
    for n in range(100):
        shutil.rmtree(folder / f"s12-{n}")
    return Result(scenario="S12", title="10,000 tracked files in 100 sessions", rows=rows)


def s13_keystroke(folder: Path, runs: Runs, peers: Peers) -> Result:
    """Time of a didChange as the daemon spends it: many keystrokes, then a request that waits for them all."""
    del peers
    text = _lines(10_000, 100)
    path = _file(folder, "s13.txt", text)
    uri = Path(path).as_uri()
    ours = Ours(str(folder))
    ours.rpc.notify(
        "textDocument/didOpen",
        {
            "textDocument": {"uri": uri, "languageId": "text", "version": 1, "text": text},
        },
    )
    row, version, n_keys = Row(contender=OURS), 1, 100
    for _ in range(max(5, runs // 5)):
        start = time.perf_counter()
        for _ in range(n_keys):
            version += 1
            at = {"line": version * 7919 % 10_000, "character": 8}
            ours.rpc.notify(
                "textDocument/didChange",
                {
                    "textDocument": {"uri": uri, "version": version},
                    "contentChanges": [{"range": {"start": at, "end": at}, "text": "k"}],
                },
            )
        ours.rpc.call("fileops/tracked", {})
        row.times_s.append((time.perf_counter() - start) / n_keys)
    ours.close()
    return Result(scenario="S13", title="a keystroke's didChange in a 1 MB document", rows=[row])


# --- curves ----------------------------------------------------------------------------------------------------------


def curve_by_size(folder: Path, runs: Runs, peers: Peers) -> list[Result]:
    """The same edit in files of 1 kB to 100 MB; one result for each size."""
    results: list[Result] = []
    for size in (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000):
        n_lines = max(10, size // 100)
        at = f"{n_lines // 2:07d} the"
        known = peers if size <= 10_000_000 else Peers()  # a minute for each edit of the peers beyond
        n_rounds = max(3, min(runs, 20_000_000 // size))
        rows = _edit_scenario(folder, known, _lines(n_lines, 100), at, at.replace("the", "THE"), n_rounds=n_rounds)
        results.append(Result(scenario=str(size), title=f"edit in a file of {size} bytes", rows=rows, baseline=RAW))
    return results


def curve_by_tracked(folder: Path, runs: Runs, peers: Peers) -> list[Result]:
    """Read and edit of one file beside more and more tracked ones."""
    del peers
    results: list[Result] = []
    ours, probe = Ours(str(folder)), _file(folder, "probe.txt", _lines(200))
    ours.read(probe)
    calls: dict[str, Callable[[], object]] = {
        "read": lambda: ours.read(probe),
        "edit": _toggler(lambda old, new: ours.edit(probe, old, new), "0000100 the", "0000100 THE"),
    }
    n_tracked = 1
    for wanted in (1, 10, 100, 1000, 10_000):
        for n in range(n_tracked, wanted):
            (folder / f"t{n % 100}").mkdir(exist_ok=True)
            ours.read(_file(folder / f"t{n % 100}", f"{n}.txt", "one\n"))
        n_tracked = max(n_tracked, wanted)
        rows = interleaved(calls, n_rounds=runs * 2, n_warm=5)
        results.append(Result(scenario=str(wanted), title=f"{wanted} tracked files", rows=rows))
    ours.close()
    return results


SCENARIOS: dict[str, Callable[[Path, Runs, Peers], Result]] = {
    "S1": s1_cold_start, "S2": s2_warm_read, "S3": s3_deep_read, "S4": s4_small_edit, "S5a": s5_edit_5mb,
    "S5b": s5_edit_50mb, "S6": s6_fifty_edits, "S7": s7_many_hits, "S8": s8_many_files, "S9": s9_pipelined,
    "S10": s10_decode, "S11": s11_stale, "S12": s12_many_tracked, "S13": s13_keystroke, "S14": s14_scale,
}  # fmt: skip
