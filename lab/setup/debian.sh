#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Install the Debian packages of a list (packages.txt unless another is named) that this machine lacks. Says what it installs;
# does nothing when all are there.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=${1:-$here/packages.txt}
log=$here/../../build/debian-packages.log
# shellcheck source=lab/setup/apt.sh
. "$here/apt.sh"
missing=()

while IFS=$'\t' read -r proof package; do
	case $proof in
	'' | '#'*) continue ;;
	esac
	compgen -G "$proof" >/dev/null || missing+=("$package")
done <"$list"

[ ${#missing[@]} -gt 0 ] || exit 0
mkdir -p "$(dirname "$log")"
echo "installing Debian packages: ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
	echo "make deps: installing packages needs root: run it with sudo, or install ${missing[*]} yourself" >&2
	exit 1
fi
if ! command -v apt-get >/dev/null; then
	echo "make deps: this is not Debian (no apt-get); install ${missing[*]} yourself" >&2
	exit 1
fi

# FRR's package would start its daemons on the host: only the lab may run them.
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi

export DEBIAN_FRONTEND=noninteractive
mkdir -p "$(dirname "$log")"
{ apt_get "$log" update && apt_get "$log" install -y --no-install-recommends "${missing[@]}"; } || {
	tail -5 "$log" >&2
	echo "make deps: apt-get could not install ${missing[*]} (all its words: $log)" >&2
	exit 1
}
