#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Make build/venv from the hashed lock file, with the project itself installed in place.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=build/venv

if [ ! -x $venv/bin/python ]; then
	echo "making $venv"
	/usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
		echo "make deps: Python 3.11 or newer is needed; /usr/bin/python3 is $(/usr/bin/python3 --version)" >&2
		exit 1
	}
	/usr/bin/python3 -m venv $venv
fi
echo "installing Python packages of api/requirements-dev.lock"
$venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r api/requirements-dev.lock \
	2>build/pip.log || {
	cat build/pip.log >&2
	exit 1
}
$venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable api
