"""Plain functions over frozen values: no asyncio, no clock, no disk."""
