#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of another Debian suite through an apt configuration of the project's own, so that the machine's stays untouched.
# One suite per configuration: with two in one list apt would upgrade libraries across suites.
#
#   suite.sh download SUITE FOLDER PACKAGE...   fetch the .deb files only (PACKAGE may be a regular expression: newest match)
#   suite.sh install SUITE PACKAGE...           install on this machine, from SUITE where the machine's release has it older
#   suite.sh newer                              print the suite that has Linux 6.12 and QEMU 10 for this machine's release
#   suite.sh mirror                             print the address of the mirror that this machine itself uses

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=lab/setup/apt.sh
. "$root/lab/setup/apt.sh"

fail() {
	echo "suite.sh: $*" >&2
	exit 1
}

release=$(sed -n "s/^VERSION_CODENAME=//p" /etc/os-release)

newer() {
	case $release in
	bookworm) echo bookworm-backports ;; # itself it has Linux 6.1 and QEMU 7
	*) echo "$release" ;;
	esac
}

# The address of the mirror that this machine itself uses for its release.
mirror() {
	apt-get indextargets --format "\$(CODENAME) \$(REPO_URI)" "Created-By: Packages" |
		awk -v release="$release" '$1 == release { print $2; exit }'
}

# Sets `options` for apt: own sources, lists and cache; the machine's package state only where packages are installed.
# Without the network an update is an error, and not one that succeeded and found nothing.
configure() {
	local suite=$1 folder=$root/build/apt/$1-$2 uri
	uri=$(mirror)
	[ -n "$uri" ] || fail "this machine's apt sources name no Debian mirror for its own release"
	mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" >"$folder/sources.list"
	if [ "$2" = with-release ] && [ "$suite" != "${suite%-backports}" ]; then
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri ${suite%-backports} main" \
			>>"$folder/sources.list"
	fi
	options=(-q -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=root
		-o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Update::Error-Mode=any)
	if [ ! -e "$folder/updated" ] || [ -n "$(find "$folder/updated" -mmin +1440)" ]; then
		apt-get "${options[@]}" update >"$folder/update.log" 2>&1 || fail "apt-get update for $suite failed: $(tail -1 "$folder/update.log")"
		touch "$folder/updated"
	fi
}

# The newest package whose name matches an anchored regular expression.
newest() {
	local name
	name=$(apt-cache "${options[@]}" search --names-only "^$1\$" | awk '{ print $1 }' | sort -V | tail -1)
	[ -n "$name" ] || fail "no package named $1 in the suite"
	echo "$name"
}

download() {
	local suite=$1 folder=$2 package names=()
	shift 2
	configure "$suite" alone
	for package in "$@"; do
		names+=("$(newest "$package")")
	done
	mkdir -p "$folder"
	(cd "$folder" && apt-get "${options[@]}" download "${names[@]}")
}

install() {
	local suite=$1
	shift
	configure "$suite" with-release
	local log=$root/build/apt/install.log
	export DEBIAN_FRONTEND=noninteractive
	apt_get "$log" "${options[@]}" install -y --no-install-recommends -t "$suite" "$@" ||
		fail "apt-get install from $suite failed: $(tail -1 "$log")"
}

command=${1:-}
case $command in
download | install)
	shift
	"$command" "$@"
	;;
newer) newer ;;
mirror) mirror ;;
*) fail "say download, install, newer or mirror" ;;
esac
