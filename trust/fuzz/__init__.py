"""Random calls, programs, transforms and files, compared with other results: `python -m trust.fuzz`."""
