"""A package whose plugins do what none should, laid out as pip would install it."""

import pathlib

SOURCE = '''
import itertools, os, sys, time


def sleeping(*_):
    time.sleep(3600)

def looping(*_):
    while True:
        pass

def holding(*_):
    """Without ever letting another thread run."""
    any(itertools.repeat(0))

def greedy(*_):
    kept = []
    while True:
        kept.append(bytearray(1 << 24))

def leaving(*_):
    os._exit(3)

def forking(*_):
    """A child that holds what it inherited."""
    if not os.fork():
        time.sleep(3600)
    time.sleep(3600)

def beyond(text, old, new):
    return [(0, len(text) + 1, new)]

def exiting(file_path, before, after):
    sys.exit("no")

def talking(text, old, new):
    print("to stdout")
    os.write(1, b"to descriptor 1")
    at = text.index(old)
    return [(at, at + len(old), new)]

def agreeing(file_path, before, after):
    return None

def odd(file_path, before, after):
    return 3

def mangling(file_path, before, after):
    return "mangled\\n" + after

def shouting(file_path, before, after):
    return after.upper()

def snow(file_path, before, after):
    return after + "\\u2603\\n"
'''
STRATEGIES = ("sleeping", "looping", "holding", "greedy", "leaving", "forking", "beyond", "talking")
VALIDATORS = ("sleeping", "looping", "leaving", "agreeing", "odd", "exiting")
PROCESSORS = ("sleeping", "leaving", "odd", "exiting", "mangling", "snow")


def hostile_in(folder: pathlib.Path) -> pathlib.Path:
    """A folder for PYTHONPATH, with the package in it."""
    info = folder / "site" / "hostile-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "site" / "hostile.py").write_text(SOURCE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    lines = ["[fileops.strategies]", *(f"{name} = hostile:{name}" for name in STRATEGIES)]
    lines += ["[fileops.validators]", *(f"{name} = hostile:{name}" for name in VALIDATORS)]
    lines += ["[fileops.processors]", *(f"{name} = hostile:{name}" for name in PROCESSORS)]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder / "site"
