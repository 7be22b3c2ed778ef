"""Another process that puts links and folders in each other's place all the time."""

import contextlib
import subprocess
import sys
from collections.abc import Generator


@contextlib.contextmanager
def swapping(*steps: str) -> Generator[None]:
    """Another process runs these statements in turn, as fast as it can, until the end of the block."""
    body = "\n        ".join(steps)
    program = f"""
import ctypes, os, threading, sys
renameat2 = ctypes.CDLL(None).renameat2
def exchange(one, other):  # what stands at each name, in one step
    assert renameat2(-100, one.encode(), -100, other.encode(), 2) == 0
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
print("ready", flush=True)
while not over.is_set():
    for _ in range(50):
        {body}
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield
        assert process.poll() is None, "the swapper gave up"
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()
