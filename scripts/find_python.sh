#!/bin/sh
# Print the newest Python on the PATH that runs, is 3.11 or newer and can make environments;
# failing that, one that lacks only ensurepip. (A version manager's shim may be there and not run.)
suits() { "$1" -c "import sys, $2; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1; }

for needs in venv,ensurepip venv; do
    for candidate in python3.15 python3.14 python3.13 python3.12 python3.11 python3 python; do
        if suits "$candidate" "$needs"; then
            echo "$candidate"
            exit 0
        fi
    done
done
exit 1
