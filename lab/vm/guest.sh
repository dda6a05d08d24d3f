#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Inside the virtual machine, as process 1: run the command of the run folder with its output on one virtio port and its
# status on another, then switch off.

project=$1
run=$2
output=/dev/virtio-ports/weir.output
status=/dev/virtio-ports/weir.status

port() {
	local entry
	for entry in /sys/class/virtio-ports/*; do
		if [ "$(cat "$entry/name")" = "$1" ]; then
			echo "/dev/$(basename "$entry")"
			return
		fi
	done
}
output=$(port weir.output)
status=$(port weir.status)

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 WEIR_IN_VM=1
# Pytest would import every plugin that is installed, for a minute on emulated processors; no test here needs one.
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
hostname weir-vm
# Udev would load it on demand: the lab delays packets through a tun device.
[ -e /dev/net/tun ] || modprobe tun
cd "$project" || exit 1
echo up >"$status"
bash "$run/command" >"$output" 2>&1 </dev/null
code=$?
# A port is flushed by the time that its last writer closed it and the kernel handed the buffer over.
sync
echo "exit $code" >"$status"
# Process 1 may not end: switch off by the kernel itself.
echo o >/proc/sysrq-trigger
sleep 60
