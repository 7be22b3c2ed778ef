"""Pace of a monitor's sweeps: their pauses depend on what they cost."""

SWEEP_S = 0.5  # a change without a watch event is published within 1 s
SWEEP_SHARE = 0.009  # of a core, so that an idle daemon stays below a hundredth; a slow disk is swept less often
REPAIR_EVERY = 4  # sweeps between two checks of watches


class SweepPace:
    def __init__(self, sweep_s: float) -> None:
        """Args: sweep_s: the shortest pause."""
        self._sweep_s = sweep_s
        self._n_sweeps = 0
        self._cost_s = 0.0

    def repairs_watches(self) -> bool:
        """Count a sweep. Returns whether the watches are to be checked after it."""
        self._n_sweeps += 1
        return self._n_sweeps % REPAIR_EVERY == 0

    def pause_s(self, cost_s: float) -> float:
        """Return the pause after a sweep. Args: cost_s: processor time of the sweep."""
        self._cost_s += (cost_s - self._cost_s) / 4  # one slow sweep is no rule
        return max(self._sweep_s, self._cost_s / SWEEP_SHARE)
