"""Settings that hold for every test."""

from hypothesis import settings

settings.register_profile("fileops", deadline=None)  # no timed assertions
settings.load_profile("fileops")
