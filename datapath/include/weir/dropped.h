/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Why the kernel drops packets, as long as somebody looks: shared by bpf/weir_dropped.bpf.c and loader/dropped.c. */
#ifndef WEIR_DROPPED_H
#define WEIR_DROPPED_H

#include <linux/types.h>

#define WEIR_DROPPED_ROWS 4096
/* Reasons of the kernel's own: rows that are counted without looking for them. */
#define WEIR_DROPPED_LAST 256

/* `reason` as this kernel numbers them; `ifindex` 0: of no interface. */
struct weir_dropped_key {
	__u32 reason, ifindex;
};

/* Of one reason on one processor: where it dropped last, and how many of there are not in a row of their own yet. */
struct weir_dropped_last {
	__u32 ifindex, reserved;
	__u64 packets;
};

#endif
