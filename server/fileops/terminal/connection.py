"""What the commands and the full screen share for talking to the daemon: their name, possible failures, exit statuses.

This is a module of its own because the full screen is loaded only if Textual is installed.
"""

from fileops_client import AttachRefused, ConnectionLost, RequestTimeout, ResponseError, ServerMissing
from fileops_client.errors import INVALID_PARAMS

DONE, FAILED, MISUSED = 0, 1, 2  # exit statuses
HOST = "terminal"  # the name of this client, as people read it
DECIDE_S = 60.0  # how long the edits may take to be written
FOLDER_IS_GONE = "The current folder was removed. Change to another one."
# The failures that keep a program from reaching the daemon.
UNREACHABLE = (ServerMissing, AttachRefused, ConnectionLost, RequestTimeout, ResponseError)


def reason_of(fault: ResponseError) -> str:
    """Return what was wrong, without the parameter's name, because the person did not write one."""
    return str(fault.data["reason"]) if fault.code == INVALID_PARAMS else fault.message
