/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What is counted of sources while somebody looks for scans: shared by bpf/weir_scan.bpf.c and loader/scan.c. */
#ifndef WEIR_SCAN_H
#define WEIR_SCAN_H

#include <linux/types.h>

#define WEIR_SCAN_SOURCES 4096
#define WEIR_SCAN_WORDS 16 /* a bit for each hash of a destination: 1,024 */
#define WEIR_SCAN_BITS (WEIR_SCAN_WORDS * 64)

/* IPv4 as ::ffff:a.b.c.d; of IPv6 the first 64 bits. Network byte order. */
struct weir_scan_key {
	__u32 word[4];
};

struct weir_scan_row {
	__u64 lookups;
	__u64 bits[WEIR_SCAN_WORDS];
};

#endif
