#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Buildroot calls this with the images folder: disk image with block map (for flashing; on a stick it is the live system that
# weir-install copies from), QEMU disk, update bundle.

set -euo pipefail

images=$1
variant=${2:-appliance}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$root/build/images
version=$(cat "$root/VERSION" 2>/dev/null || echo 0.1.0)
name=weir-$variant-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The boot partition: GRUB for EFI, the menu, and an environment in which both slots are good (genimage.cfg fills both).
boot_partition() {
	rm -rf "$images/grub-files"
	mkdir -p "$images/grub-files/grub"
	cp -a "$images/efi-part/EFI" "$images/grub-files/"
	cp "$here/grub.cfg" "$images/grub-files/grub/grub.cfg"
	grub-editenv "$images/grub-files/grub/grubenv" create
	grub-editenv "$images/grub-files/grub/grubenv" set ORDER="A B" A_OK=1 A_TRY=0 B_OK=1 B_TRY=0
	cp "$images/grub-files/grub/grubenv" "$images/grub-files/grub/grubenv.copy"
}

# The processors' microcode as the kernel looks for it (Documentation/arch/x86/microcode.rst). The archive names no folders: so the
# kernel takes the files from where they lie and does not unpack them, which would keep their memory for ever.
microcode() {
	local into=$work/microcode/kernel/x86/microcode
	mkdir -p "$into"
	joined "$images/amd-ucode" 'microcode_amd*.bin' "$into/AuthenticAMD.bin"
	joined "$images/intel-ucode" '[0-9a-f][0-9a-f]-[0-9a-f][0-9a-f]-[0-9a-f][0-9a-f]' "$into/GenuineIntel.bin"
	(cd "$work/microcode" && find . -type f -exec touch -d @0 {} + -printf '%P\n' | LC_ALL=C sort >"$work/microcode.list")
	if [ -s "$work/microcode.list" ]; then
		(cd "$work/microcode" && cpio --quiet -o -H newc --reproducible -R 0:0 <"$work/microcode.list" >"$1")
	fi
}

# joined FOLDER PATTERN FILE: what the folder has by that name, in one file; none without.
joined() {
	[ ! -d "$1" ] || find "$1" -name "$2" -print0 | LC_ALL=C sort -z | xargs -0 cat >"$3"
}

# The kernel of a slot, in a squashfs that GRUB can read.
kernel() {
	rm -f "$images/kernel.squashfs"
	mkdir "$work/kernel"
	cp "$images/bzImage" "$work/kernel/"
	microcode "$work/kernel/microcode.img"
	# mksquashfs takes its time from one place only, and Buildroot's is the day of its release.
	env -u SOURCE_DATE_EPOCH mksquashfs "$work/kernel" "$images/kernel.squashfs" -comp gzip -noappend -all-root -quiet -no-progress \
		-mkfs-time 0 -all-time 0
}

# genimage.cfg with its identifiers. What tools would draw at random comes from the digest of the parts instead: the same
# parts give the same disk, and other ones another. UUIDs are of version 8 (RFC 9562).
configuration() {
	local parts name digits
	cp "$here/genimage.cfg" "$work/genimage.cfg"
	parts=$(cat "$images"/{{kernel,rootfs}.squashfs,{boot,grub}.img} "$images"/efi-part/EFI/*/* "$here"/{grub,genimage}.cfg | sha256sum)
	while read -r name; do
		digits=$(sha256sum <<<"$parts $name")
		case $name in
		@volume@) digits=${digits:0:8} ;;
		*) digits=${digits:0:8}-${digits:8:4}-8${digits:12:3}-8${digits:15:3}-${digits:18:12} ;;
		esac
		sed -i "s/$name/$digits/" "$work/genimage.cfg"
	done < <(grep -o '@[a-zA-Z-]*@' "$here/genimage.cfg" | sort -u)
}

disk() {
	"$here/bios_boot.py" "$images/boot.img" "$images/grub.img" 4096 "$images/bios-boot.img" "$images/bios-core.img"
	configuration
	mkdir -p "$work/root"
	# Older programs of e2fsprogs know the time by these names only.
	E2FSPROGS_FAKE_TIME=${SOURCE_DATE_EPOCH:-} E2FSCK_TIME=${SOURCE_DATE_EPOCH:-$(date +%s)} \
		genimage --rootpath "$work/root" --tmppath "$work/tmp" --inputpath "$images" --outputpath "$images" \
		--config "$work/genimage.cfg"
	bmaptool create -o "$out/$name.img.bmap" "$images/weir.img"
	# What it consists of is packed already: a higher level takes twice the time for one percent.
	xz -T0 -0 -c "$images/weir.img" >"$out/$name.img.xz"
	qemu-img convert -c -O qcow2 "$images/weir.img" "$out/$name.qcow2"
	# As large as a small real disk: the data partition grows into it at the first start.
	qemu-img resize -q "$out/$name.qcow2" 4G
}

bundle() {
	mkdir -p "$work/bundle"
	cp "$images/rootfs.squashfs" "$images/kernel.squashfs" "$work/bundle/"
	sed "s/@VERSION@/$version/" "$here/manifest.raucm.in" >"$work/bundle/manifest.raucm"
	rm -f "$out/weir-$version.raucb"
	rauc bundle --cert="${WEIR_SIGNING_CERT:-$root/build/keys/signer.pem}" \
		--key="${WEIR_SIGNING_KEY:-$root/build/keys/signer.key}" "$work/bundle" "$out/weir-$version.raucb"
}

mkdir -p "$out"
boot_partition
kernel
disk
bundle
