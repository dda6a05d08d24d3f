/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Where a prefix or a sub-queue stands in its table: the same arithmetic for the programs and the loader. */
#ifndef WEIR_HASH_H
#define WEIR_HASH_H

#include "weir/abi.h"

#ifdef __bpf__
#define WEIR_INLINE static __always_inline
#else
#define WEIR_INLINE static inline
#endif

WEIR_INLINE __u32 weir_prefix_tag(__u32 domain, __u32 length)
{
	return WEIR_TAG_LIVE | domain << 8 | length;
}

/* Two rounds of multiply and fold (the constants are the golden ratio and a MurmurHash3 finaliser). */
WEIR_INLINE __u32 weir_prefix_hash(__u64 high, __u64 low, __u32 tag)
{
	__u64 mixed = (high ^ (low << 32 | low >> 32) ^ tag) * 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ mixed >> 32 ^ low) * 0xff51afd7ed558ccdULL;
	return mixed ^ mixed >> 32;
}

WEIR_INLINE __u64 weir_mask_high(__u32 length)
{
	return length >= 64 ? ~0ULL : length ? ~0ULL << (64 - length) : 0;
}

WEIR_INLINE __u64 weir_mask_low(__u32 length)
{
	return length <= 64 ? 0 : ~0ULL << (128 - length);
}

/* Of a masked address. */
WEIR_INLINE __u64 weir_host_hash(__u64 high, __u64 low, __u32 family)
{
	__u64 mixed = (high ^ (low << 32 | low >> 32) ^ family) * 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ mixed >> 32 ^ low) * 0xff51afd7ed558ccdULL;
	return mixed ^ mixed >> 29;
}

#define WEIR_BY_SOURCE_FACTOR 0xc4ceb9fe1a85ec53ULL /* MurmurHash3: a pair of addresses is not its reverse */

/* The first place of the set in which a line's sub-queue of this hash stands; `mask`: places - 1. */
WEIR_INLINE __u32 weir_host_set(__u64 mixed, __u32 line, __u32 mask)
{
	return ((__u32)(mixed >> 32) ^ line * 0x9e3779b1U) & mask & ~(WEIR_HOST_WAYS - 1U);
}

#endif
