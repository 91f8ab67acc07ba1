"""Traces: one record per call, in a file that survives whatever happens to the program."""
