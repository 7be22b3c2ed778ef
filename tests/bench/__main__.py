"""`python -m bench`: all scenarios, side by side, in one run."""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from bench import plots, report
from bench.contenders import Peers, install_peers
from bench.measure import Result
from bench.scenarios import SCENARIOS, curve_by_size, curve_by_tracked

DEFAULT_PEERS = Path.home() / ".cache" / "fileops-bench"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(SCENARIOS)}; all by default")
    parser.add_argument("--runs", type=int, default=50, help="how often, roughly; scenarios scale it (default 50)")
    parser.add_argument(
        "--folder", type=Path, help="where the files go; on the disk to be measured (default: temporary)"
    )
    parser.add_argument("--no-peers", action="store_true", help="do not install and measure other tools")
    parser.add_argument("--peers-folder", type=Path, default=DEFAULT_PEERS, help="where they are kept between runs")
    parser.add_argument("--earlier", type=Path, help="a checkout of an earlier version, measured too (S14)")
    parser.add_argument("--json", type=Path, help="write every time to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    parser.add_argument("--plot", type=Path, help="measure the curves too and draw them into this .svg or .png")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.scenarios if name not in SCENARIOS]
    if unknown:
        parser.error(f"no such scenario: {', '.join(unknown)}")
    peers = Peers() if arguments.no_peers else install_peers(arguments.peers_folder)
    peers = replace(peers, earlier=arguments.earlier)
    results: list[Result] = []
    chosen: list[str] = arguments.scenarios or ([] if arguments.plot else list(SCENARIOS))
    for name in chosen:
        with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="fileops-bench-") as folder:
            result = SCENARIOS[name](Path(folder).resolve(), arguments.runs, peers)
        results.append(result)
        sys.stdout.write(report.markdown([result]).partition("\n\n")[2])
        sys.stdout.flush()
    if arguments.plot:
        with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="fileops-bench-") as folder:
            by_size = curve_by_size(Path(folder).resolve(), arguments.runs, peers)
            by_tracked = curve_by_tracked(Path(folder).resolve(), arguments.runs, peers)
        plots.write(by_size, by_tracked, arguments.plot)
        results += [*by_size, *by_tracked]
    if arguments.markdown:
        arguments.markdown.write_text(report.markdown(results), encoding="utf-8")
    if arguments.json:
        report.write_json(results, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
