#!/bin/sh
# Runs data-apis' array-api-tests on adjoint.array_api, with the known failures of tests/data.
#
#     scripts/array_api_tests.sh [pytest arguments]
#
# ARRAY_API_TESTS names a checkout of https://github.com/data-apis/array-api-tests; without one it is cloned.
# MAX_EXAMPLES (100) is how many examples Hypothesis draws for each test.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
checkout=${ARRAY_API_TESTS:-$root/build/array-api-tests}
if [ ! -d "$checkout" ]; then
    git clone --depth 1 --recurse-submodules https://github.com/data-apis/array-api-tests "$checkout"
fi
known=$root/tests/data/array_api_known_failures.txt
cd "$checkout"
ARRAY_API_TESTS_MODULE=adjoint.array_api ARRAY_API_TESTS_VERSION=2024.12 PYTHONPATH=$root/src \
    "${PYTHON:-python}" -m pytest -q --disable-deadline --max-examples "${MAX_EXAMPLES:-100}" \
    --xfails-file "$known" array_api_tests "$@"
