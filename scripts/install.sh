#!/bin/sh
# install.sh PYTHON EXTRA: install what pyproject.toml names into PYTHON's environment: for the extra "build"
# the build requirements, for any other adjoint itself (editable, uncompiled) with that extra's dependencies.
python=$1
extra=$2
pip="$python -m pip --disable-pip-version-check -qq install"

if [ "$extra" = build ]; then
    echo "Installing the build tools"
    read='import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])'
    required=$("$python" -c "$read") || exit 1
    $pip $required
else
    echo "Installing adjoint with what '$extra' needs"
    ADJOINT_DISABLE_EXT=1 $pip --no-build-isolation --editable ".[$extra]"
fi || {
    echo "pip could not install it (its own words stand above); once that is mended, run make again." >&2
    exit 1
}
