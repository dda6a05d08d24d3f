#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Buildroot calls this with the target folder before it packs the root file system.

set -euo pipefail

target=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
version=$(cat "$root/VERSION" 2>/dev/null || echo 0.1.0)

# Mount points of the read-only system (etc/fstab), and a machine id that the first boot makes.
mkdir -p "$target/data" "$target/boot/grub" "$target/var/lib" "$target/var/log"
: >"$target/etc/machine-id"

# The time zone is chosen on the running system, so it is a link on the data partition; UTC while there is none.
ln -sfn /data/zone/localtime "$target/etc/localtime"

cat >"$target/etc/os-release" <<RELEASE
NAME=Weir
ID=weir
VERSION_ID=$version
PRETTY_NAME="Weir $version"
RELEASE

# Only what stands beside the kernel is loaded into the processor in time (post-image.sh); of no use in the system.
amd=$target/usr/lib/firmware/amd-ucode
if [ -d "$amd" ]; then
	rm -rf "$BINARIES_DIR/amd-ucode"
	mv "$amd" "$BINARIES_DIR/"
fi

# Bundles are accepted from this authority only.
"$here/keys.sh" "$root/build/keys"
install -D -m 0644 "${WEIR_KEYRING:-$root/build/keys/keyring.pem}" "$target/etc/rauc/keyring.pem"

# Tuning is data that the agent reads (docs/adr/0053).
install -D -m 0644 "$root/board/tuning.toml" "$target/usr/share/weir/tuning.toml"

# NumPy's own tests: 2.6 MB of each slot and of each bundle.
rm -rf "$target"/usr/lib/python3*/site-packages/numpy/{,*/}tests

# Buildroot puts GRUB's folders into the system, but not its boot sector among the images: the sector goes there, and of the
# rest the router needs grub-editenv only.
sector=$target/usr/lib/grub/i386-pc/boot.img
[ ! -e "$sector" ] || install -D -m 0644 "$sector" "$BINARIES_DIR/boot.img"
rm -rf "$target/usr/lib/grub"
