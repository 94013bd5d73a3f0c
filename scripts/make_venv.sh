#!/bin/sh
# make_venv.sh PYTHON FOLDER: make a virtual environment with pip, also where Python came without ensurepip.
python=$1
venv=$2

echo "Making the environment $venv ($("$python" --version))"
rm -rf "$venv"
"$python" -m venv "$venv" >/dev/null 2>&1 && exit 0

rm -rf "$venv"
if "$python" -m venv --without-pip "$venv" >/dev/null 2>&1 &&
    "$python" -m pip --python "$venv/bin/python" install --quiet pip >/dev/null 2>&1; then
    exit 0
fi

rm -rf "$venv"
"$python" -m virtualenv --quiet "$venv" >/dev/null 2>&1 && exit 0

rm -rf "$venv"
cat >&2 <<END
$python cannot make an environment: its module ensurepip is missing (Debian and Ubuntu package it apart).
Install it (apt-get install python3-venv), or name another Python: make PYTHON=/path/to/python3
END
exit 1
