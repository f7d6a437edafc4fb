"""The machinery behind tests/real/run.py: see tests/real/README.md."""
