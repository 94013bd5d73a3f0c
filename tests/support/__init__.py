"""Shared parts of tests: samples of arguments, probes of functions, stand-ins for libraries, known answers."""
