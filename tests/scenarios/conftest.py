import pytest

pytest.register_assert_rewrite("scenarios.stage", "scenarios.unified", "scenarios.world")
