"""Benchmarks: the daemon beside plain Python, stock pygls and the peers that a user would pick instead.

`python -m bench` from `tests/` (or with `tests` on the path) runs every scenario with all contenders in turn, in one
run, because times on shared machines drift and only ratios within one run hold. Nothing here asserts a time.
"""
