#!/bin/sh
# Runs data-apis' array-api-tests on adjoint.array_api, with the known failures of tests/data.
#
#     scripts/array_api_tests.sh [pytest arguments]
#
# ARRAY_API_TESTS names a checkout of https://github.com/data-apis/array-api-tests; without one the revision below is
# fetched, with the standard's own texts, which are a submodule of it. ARRAY_API_TESTS_MODULE=numpy runs it on NumPy, to
# compare. tests/interop/test_array_api_conformance.py compares with array-api-strict and needs no network.
# MAX_EXAMPLES (100) is how many examples Hypothesis draws for each test. Needed: pytest, hypothesis and ndindex.
#
# The last run, with 100 examples, passed 1467 tests and failed 39, those of the list; NumPy 2.4 passed 1457 and failed
# 49. docs/array-api.md has what was run, by module. It takes about half an hour on two cores that do other work too.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
checkout=${ARRAY_API_TESTS:-$root/build/array-api-tests}
revision=${ARRAY_API_TESTS_REVISION:-019e060f003acfa2eec33761f0e948c937633443}
if [ ! -d "$checkout" ]; then
    git init --quiet "$checkout"
    git -C "$checkout" fetch --quiet --depth 1 https://github.com/data-apis/array-api-tests "$revision"
    git -C "$checkout" checkout --quiet FETCH_HEAD
    git -C "$checkout" submodule --quiet update --init --depth 1
fi
module=${ARRAY_API_TESTS_MODULE:-adjoint.array_api}
known=$root/tests/data/array_api_known_failures.txt
[ "$module" = adjoint.array_api ] || known=/dev/null
cd "$checkout"
ARRAY_API_TESTS_MODULE=$module ARRAY_API_TESTS_VERSION=2024.12 PYTHONPATH=$root/src \
    "${PYTHON:-python}" -m pytest -q --disable-deadline --max-examples "${MAX_EXAMPLES:-100}" \
    --xfails-file="$known" array_api_tests "$@"  # with =, as pytest looks for its settings above paths among arguments
