"""kill -9 of a starter at every step of start and attach: the next one gets a daemon, and there is one.

By default a sample of the steps; all of them with FILEOPS_FAULTS=all.
"""

import os
import signal
import subprocess
import sys

import pytest

from faults.injection import IS_COMPLETE
from support.daemon_process import Place
from support.patience import PATIENCE_S

# Attaches as a pump does, and is killed at its n-th call. The counter continues in the children that it forks.
STARTER = """
import fcntl, os, signal, socket, sys
n_left = int(sys.argv[1])
def dying(call):
    def counted(*arguments, **named):
        global n_left
        n_left -= 1
        if n_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **named)
    return counted
for owner, names in (
    (os, "mkdir lstat open unlink umask fork waitpid setsid chdir dup2 closerange execve close"),
    (fcntl, "flock fcntl"),
    (socket.socket, "bind listen connect sendall recv setsockopt"),
):
    for name in names.split():
        setattr(owner, name, dying(getattr(owner, name)))
from fileops.attach.address import find_address
from fileops.attach.handshake import control_line
from fileops.attach.starter import attach
attach(find_address(None, os.environ), control_line("status"))
os._exit(0)
"""
MAX_STEPS = 200
STEP = 1 if IS_COMPLETE else 6


def test_starter_killed_at_any_step_blocks_no_other(here: Place) -> None:
    n_killed = 0
    for n in range(1, MAX_STEPS, STEP):
        starter = subprocess.Popen([sys.executable, "-c", STARTER, str(n)], env=here.process_env)
        status = starter.wait(PATIENCE_S)
        assert here.run("daemon", "--detach").returncode == 0, f"after a kill at step {n}"
        assert here.daemons() == [here.status()["pid"]], f"after a kill at step {n}"
        (pid,) = here.daemons()
        os.kill(pid, signal.SIGKILL)
        here.wait_for_end(pid)
        if status == 0:
            break
        n_killed += status == -signal.SIGKILL
    else:
        pytest.fail("a start has more steps than were tried")
    assert n_killed >= 3
