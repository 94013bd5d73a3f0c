#!/bin/sh
# Print the newest Python on the PATH that runs, is one of 3.11 to 3.14 and can make environments;
# failing that, one that lacks only ensurepip. (A version manager's shim may be there and not run.)
suits() { "$1" -c "import sys, $2; sys.exit(not (3, 11) <= sys.version_info < (3, 15))" >/dev/null 2>&1; }

for needs in venv,ensurepip venv; do
    for candidate in python3.14 python3.13 python3.12 python3.11 python3 python; do
        if suits "$candidate" "$needs"; then
            echo "$candidate"
            exit 0
        fi
    done
done
exit 1
