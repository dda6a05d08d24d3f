#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Write what a step of the set-up is made from: versions, and sums of the files it reads. The file changes only when one
# of them does, so that make repeats the step then and only then, whatever the files' times are.
#
#   made_from.sh debian|venv|npm FILE

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
step=$1 file=$2

facts() {
	case $step in
	debian)
		sed -n 's/^PRETTY_NAME=//p' /etc/os-release
		sha256sum lab/setup/packages.txt lab/setup/debian.sh
		;;
	venv)
		# A virtual environment has its folder's name in its programs.
		pwd
		/usr/bin/python3 --version
		sha256sum api/requirements-dev.lock api/pyproject.toml lab/setup/venv.sh
		;;
	npm)
		build/venv/bin/node --version
		sha256sum webui/package-lock.json
		;;
	*)
		echo "made_from.sh: there is no step $step: debian, venv or npm" >&2
		return 1
		;;
	esac
}

mkdir -p "$(dirname "$file")"
facts >"$file.new"
if cmp -s "$file.new" "$file"; then
	rm "$file.new"
else
	mv "$file.new" "$file"
fi
