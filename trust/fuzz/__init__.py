"""Random calls, programs, transforms and files, compared with what is known otherwise: `python -m trust.fuzz`."""
