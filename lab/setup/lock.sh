#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pin and hash every Python package: api/requirements*.in -> *.lock. Run it after changing an .in file (make lock).

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../../api"

compile() {
	../build/venv/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --no-emit-options --output-file "$1" "$2"
	sed -i '1i # SPDX-License-Identifier: Apache-2.0\n# Made by "make lock"; do not edit.' "$1"
}

# The header of the last run would be kept as a comment of the first package.
sed -i '/^# SPDX/d; /^# Made by/d' requirements.lock requirements-dev.lock 2>/dev/null || true
compile requirements.lock requirements.in
compile requirements-dev.lock requirements-dev.in
