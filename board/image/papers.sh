#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# After Buildroot: what an image consists of (CycloneDX), under which licences, and the checksums of everything in build/images.
#
#   papers.sh BUILDROOT OUTPUT VARIANT
#
# The sources that some licences ask for stay in OUTPUT/legal-info; a person who passes an image on passes them on, too. They are
# collected from the downloads of every package: LICENCES=no leaves them and the texts out, for a trial that nobody gets.

set -euo pipefail

buildroot=$1
output=$2
variant=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$root/build/images
version=$(cat "$root/VERSION" 2>/dev/null || echo 0.1.0)
name=weir-$variant-$version
mkdir -p "$out"

# The names of licences come from CycloneDX's own list, which generate-cyclonedx fetches once into the downloads.
export BR2_DL_DIR=${BR2_DL_DIR:-$root/build/dl}
make -C "$output" --no-print-directory show-info |
	"$buildroot/utils/generate-cyclonedx" --project-name weir --project-version "$version" -o "$out/$name.cdx.json"
"$root/board/image/web_parts.py" "$root/webui/package-lock.json" "$out/$name.cdx.json"

if [ "${LICENCES:-}" = no ]; then
	echo "no licences: this image is not to be handed on"
	rm -f "$out/$name.licences.tar.xz"
else
	make -C "$output" legal-info >>"$output.log" 2>&1 ||
		{ echo "papers.sh: the licences could not be collected; the words are in $output.log" >&2; exit 1; }
	tar -C "$output/legal-info" --exclude='*sources' --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 \
		-cJf "$out/$name.licences.tar.xz" .
fi

(cd "$out" && rm -f "$name.sha256" && sha256sum -- "$name".* "weir-$version.raucb" >"$name.sha256")
