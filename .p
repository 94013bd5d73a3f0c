cd /tmp/h/s2 && PYTHONPATH=src:. nice -n 2 /tmp/tv/bin/python -W ignore .scratch/probe.py "$@"
