"""Where files live: the disk, memory, and the watcher behind them."""
