"""The soak program, for a few seconds: it runs, every answer comes, and nothing grows by leaps."""

import pytest

from faults.soak import Phase, Sample, run

MAX_GROWTH_MB = 16.0  # caches are still filling up in so short a time


@pytest.mark.timeout(300)
def test_memory_and_descriptors_stay_flat_over_many_requests() -> None:
    phases = run(n_requests=1500, n_changes=400, n_sessions=150, say=lambda _line: None)
    assert [phase.faults(MAX_GROWTH_MB) for phase in phases] == [[], [], []]


def samples(**growing: float) -> list[Sample]:
    facts = {"resident_mb": 50.0, "n_descriptors": 12, "n_threads": 20}
    return [Sample(n, **{key: value + growing.get(key, 0) * n for key, value in facts.items()}) for n in range(30)]  # pyrefly: ignore[bad-argument-type]


@pytest.mark.parametrize(
    ("growing", "n_faults"), [({}, 0), ({"resident_mb": 1}, 1), ({"n_descriptors": 1}, 1), ({"n_threads": 1}, 1)]
)
def test_growth_is_reported(growing: dict[str, float], n_faults: int) -> None:
    assert len(Phase("x", samples(**growing)).faults()) == n_faults
