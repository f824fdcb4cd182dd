"""Benchmarks. `make bench` runs them all side by side; nothing here is a test."""
