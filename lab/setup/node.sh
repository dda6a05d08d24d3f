#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Make sure that Node.js 20 or newer is there, which the web interface is built with (Debian 12 itself has 18).
# Missing or too old: say so in one sentence.

set -euo pipefail

version=$(node --version 2>/dev/null || echo none)
major=${version#v}
major=${major%%.*}
if [ "$version" = none ] || [ "$major" -lt 20 ]; then
	echo "make deps: Node.js 20 or newer is needed to build the web interface; found: $version" >&2
	exit 1
fi
command -v npm >/dev/null || {
	echo "make deps: npm is missing; it comes with Node.js 20 or newer" >&2
	exit 1
}
