/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* What a capture sees of the fast path: packets between the program and the process that reads them. */
#ifndef WEIR_CAPTURE_H
#define WEIR_CAPTURE_H

#include <linux/types.h>

#define WEIR_CAPTURE_RING (8 << 20) /* bytes; a power of two */
#define WEIR_CAPTURE_TAG 4 /* so much more of each is kept, as a tag may be taken off */
#define WEIR_CAPTURE_MOST 1544 /* bytes of a packet with that; a multiple of 8 */

enum weir_capture_way { WEIR_CAPTURE_IN = 1, WEIR_CAPTURE_OUT }; /* as pcapng numbers them */

/* Before the bytes of a packet as it leaves, which has a link header. */
struct weir_capture_packet {
	__u64 at_ns; /* CLOCK_MONOTONIC */
	__u32 length; /* of the whole packet */
	__u16 kept; /* so many bytes follow */
	__u8 way; /* enum weir_capture_way */
	__u8 is_tagged; /* its VLAN tag is that of the interface that is looked at */
};

/* Of one processor; only that one writes. */
struct weir_capture_counts {
	__u64 base; /* where the kernel has this processor's variables; 0 = not asked yet */
	__u64 seen; /* packets that pass the filter */
	__u64 dropped; /* of these, for want of room */
	__u64 lost; /* packets of the interface that were not found, whether they pass or not */
};

#endif
