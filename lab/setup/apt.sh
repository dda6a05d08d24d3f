# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced: `apt_get LOG ARGUMENT...` runs apt-get with its output in LOG and waits while another one holds apt's or dpkg's
# lock, as the daily update of a freshly started Debian does. It returns apt-get's status.

set -euo pipefail

apt_wait_s=${APT_WAIT_S:-600}

apt_get() {
	local log=$1 deadline=$((SECONDS + apt_wait_s)) told=
	shift
	until apt-get -q "$@" >"$log" 2>&1; do
		if ! grep -Eq "Could not get lock|Unable to (acquire|lock)" "$log" || ((SECONDS >= deadline)); then
			return 1
		fi
		[ -n "$told" ] || echo "waiting for another apt or dpkg to end, for up to $apt_wait_s s" >&2
		told=1
		sleep 2
	done
}
