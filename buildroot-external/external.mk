# SPDX-License-Identifier: Apache-2.0
# The sources stand beside this folder in one repository.
WEIR_ROOT = $(realpath $(BR2_EXTERNAL_WEIR_PATH)/..)
include $(sort $(wildcard $(BR2_EXTERNAL_WEIR_PATH)/../package/*/*.mk))

# Squashfs keeps three unpacked fragments: Python's modules, read in turns, had them unpacked again and again (docs/adr/0281).
ROOTFS_SQUASHFS_ARGS += -no-fragments
