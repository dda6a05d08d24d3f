/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* From an address to a slot. Part of weir/abi.h. */
#ifndef WEIR_ABI_TABLES_H
#define WEIR_ABI_TABLES_H

#include <linux/types.h>

/*
 * IPv4: three levels of 16, 8 and 8 bits. An entry is a leaf or points to a node of 256 children.
 *   leaf   bit 31 clear; bits 25..30 prefix length + 1 (0 = nothing matches); bits 0..23 slot;
 *          bit 24: it counts, the address's last byte is added to the slot
 *   node   bit 31 set; bit 30: plain (256 entries in 16 units); bit 29: sparse; neither: packed;
 *          bit 28: packed, and counts addresses of 28 prefixes at least; bits 0..27 first unit
 * A packed node holds each run of equal entries once: a 256-bit map of where runs start, the number of
 * runs before each 64-bit word, then the runs' entries, continued in the next units. On the last level, addresses in
 * turn with slots in turn are one run as well, whose leaf counts.
 * A sparse node stands for both lower levels where they hold few runs: in which of the 65,536 addresses
 * each begins, and its leaf; unused runs begin at 65,535 and repeat the last leaf. One unit, one access.
 */
#define WEIR_V4_NODE 0x80000000U
#define WEIR_V4_PLAIN 0x40000000U
#define WEIR_V4_SPARSE 0x20000000U
#define WEIR_V4_CROWD 0x10000000U
#define WEIR_V4_UNIT 0x0fffffffU
#define WEIR_V4_COUNTS 0x01000000U
#define WEIR_V4_SLOT 0x00ffffffU
#define WEIR_V4_DEPTH_SHIFT 25
#define WEIR_V4_UNIT_WORDS 16 /* 2^WEIR_V4_FLAGS */
#define WEIR_V4_FLAGS 4 /* bits of an entry above those of its unit */
#define WEIR_V4_ROOT_UNITS 4096 /* the first level of domain d is in units d * 4096 and following */
#define WEIR_V4_RUNS_AT 9 /* word of a packed node where its runs begin */
#define WEIR_V4_SPARSE_RUNS 10
#define WEIR_V4_PACKED_MAX 55 /* runs; a node with more is plain */

struct weir_v4_unit {
	union {
		__u32 word[WEIR_V4_UNIT_WORDS];
		struct {
			__u64 starts[4];
			__u8 before[4];
		};
		struct {
			__u16 begins[WEIR_V4_SPARSE_RUNS];
			__u32 runs[WEIR_V4_SPARSE_RUNS];
		};
	};
};

/*
 * Prefixes, in a hash table with linear probing, one table per family. The v6 table is what packets
 * are looked up in, once per prefix length in use; the v4 table is the record the tree is built from.
 * `tag` is written last and says what the entry is; key and length never change while it is live.
 */
#define WEIR_TAG_FREE 0U
#define WEIR_TAG_DEAD 1U
#define WEIR_TAG_LIVE 0x01000000U /* | domain << 8 | length */
#define WEIR_PROBES 128 /* tables are at most half full: a cluster this long is a 1e-11 event */
#define WEIR_V6_LENGTHS 32

struct weir_prefix {
	__u64 high; /* v4: the address; v6: its first half; host byte order, host bits zero */
	__u64 low;
	__u32 slot;
	__u32 tag;
	__u64 reserved;
};

/* Sources of which so many packets are taken, by prefix: IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2). */
#define WEIR_BOUNDED_MAX 1024
#define WEIR_BOUNDED_V4 96 /* bits before an IPv4 address */

struct weir_bounded_key {
	__u32 bits;
	__u32 word[4]; /* network byte order */
};

struct weir_bounded {
	__u64 clock_ns; /* CLOCK_MONOTONIC: when the next packet is taken */
	__u64 cost_ns; /* between two packets */
	__u64 burst_ns; /* so far behind the clock may be */
	__u64 passed; /* packets */
	__u64 dropped;
};

struct weir_lengths {
	__u32 count;
	__u8 length[WEIR_V6_LENGTHS]; /* longest first */
};

#endif
