#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Make ready what the virtual machine needs: QEMU 10 or newer, whose plugins count, and in build/vm Debian's 6.12 kernel
# (unpacked, not installed) with an initramfs that mounts this machine's own files. Does nothing when all is there.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
vm=$root/build/vm
kernel_package='linux-image-6\.12\.[0-9.+a-z]*-amd64'
# What the initramfs must load before it can reach the machine's files; everything else loads itself later.
first_modules=(virtio_pci virtio_console virtio_rng virtio_net 9pnet_virtio 9p overlay)

fail() {
	echo "lab/setup/vm.sh: $*" >&2
	exit 1
}

suite() {
	"$here/suite.sh" "$@" >>"$vm/setup.log" 2>&1 ||
		fail "could not get packages of $newer: $(tail -1 "$vm/setup.log") (all its words: $vm/setup.log)"
}

install_qemu() {
	local version
	if command -v qemu-system-x86_64 >/dev/null; then
		version=$(qemu-system-x86_64 --version | sed -n '1s/.*version \([0-9]*\).*/\1/p')
	fi
	[ "${version:-0}" -lt 10 ] || return 0
	echo "installing QEMU from $1"
	suite install "$1" qemu-system-x86
}

unpack_kernel() {
	local debs=("$vm"/debs/linux-image-*.deb)
	if [ ! -e "${debs[0]}" ]; then
		echo "fetching Debian's Linux 6.12"
		suite download "$1" "$vm/debs" "$kernel_package"
		debs=("$vm"/debs/linux-image-*.deb)
	fi
	rm -rf "$vm/kernel.new" "$vm/kernel"
	dpkg -x "${debs[-1]}" "$vm/kernel.new"
	if [ ! -d "$vm/kernel.new/lib/modules" ]; then
		# Newer packages hold the modules in /usr/lib only.
		mkdir -p "$vm/kernel.new/lib"
		mv "$vm/kernel.new/usr/lib/modules" "$vm/kernel.new/lib/"
	fi
	depmod -b "$vm/kernel.new" "$(ls "$vm/kernel.new/lib/modules")"
	mv "$vm/kernel.new" "$vm/kernel"
}

build_initramfs() {
	local tree=$vm/initramfs release module line file
	release=$(ls "$vm/kernel/lib/modules")
	rm -rf "$tree"
	mkdir -p "$tree"/{bin,dev,proc,sys,modules,host,root,upper}
	cp /usr/bin/busybox "$tree/bin/busybox"
	install -m 755 "$root/lab/vm/init" "$tree/init"
	: >"$tree/modules/order"
	for module in "${first_modules[@]}"; do
		while read -r line; do
			case $line in
			insmod\ *)
				file=${line#insmod }
				file=${file%% *}
				grep -qxF "$(basename "${file%.xz}")" "$tree/modules/order" && continue
				case $file in
				*.xz) xz -dc "$file" >"$tree/modules/$(basename "${file%.xz}")" ;;
				*) cp "$file" "$tree/modules/" ;;
				esac
				basename "${file%.xz}" >>"$tree/modules/order"
				;;
			esac
		done < <(modprobe -d "$vm/kernel" -S "$release" --show-depends "$module" 2>>"$vm/setup.log" ||
			fail "the kernel package has no module $module")
	done
	(cd "$tree" && find . | cpio --quiet -o -H newc | gzip -1) >"$vm/initramfs.gz.new"
	mv "$vm/initramfs.gz.new" "$vm/initramfs.gz"
}

mkdir -p "$vm"
newer=$("$here/suite.sh" newer)
install_qemu "$newer"
if [ ! -e "$vm/kernel" ]; then
	unpack_kernel "$newer"
fi
if [ ! -e "$vm/initramfs.gz" ] || [ "$root/lab/vm/init" -nt "$vm/initramfs.gz" ] ||
	[ "$here/vm.sh" -nt "$vm/initramfs.gz" ]; then
	build_initramfs
fi
