/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IPv6 longest-prefix match: one hash probe per prefix length in use, longest first. Few lengths occur
 * (/128, /64, /56, /48), so this is two to four probes whatever the number of prefixes.
 *
 * The loader writes `tag` last and reuses a dead entry only after a grace period.
 */
#ifndef WEIR_BPF_LOOKUP6_H
#define WEIR_BPF_LOOKUP6_H

#include "weir/abi.h"
#include "weir/hash.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set by the loader */
	__type(key, __u32);
	__type(value, struct weir_prefix);
} weir_prefix6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_meta);
} weir_meta SEC(".maps");

const volatile __u32 weir_prefix_mask = 0;

/* One length; address already masked. Global, so that it is verified once. Returns a slot or -1. */
__attribute__((noinline)) int weir_probe6(__u64 high, __u64 low, __u32 tag)
{
	__u32 at = weir_prefix_hash(high, low, tag);

	for (int probe = 0; probe < WEIR_PROBES; probe++, at++) {
		__u32 index = at & weir_prefix_mask;
		struct weir_prefix *prefix = bpf_map_lookup_elem(&weir_prefix6, &index);
		__u32 found;

		if (!prefix)
			return -1;
		found = *(volatile __u32 *)&prefix->tag;
		if (found == WEIR_TAG_FREE)
			return -1;
		if (found == tag && prefix->high == high && prefix->low == low)
			return *(volatile __u32 *)&prefix->slot;
	}
	return -1;
}

static __always_inline __u32 weir_lookup6(__u32 domain, __u64 high, __u64 low)
{
	__u32 zero = 0;
	struct weir_meta *meta = bpf_map_lookup_elem(&weir_meta, &zero);
	struct weir_lengths *lengths;

	if (!meta)
		return 0;
	lengths = &meta->lengths[*(volatile __u32 *)&meta->lengths_active & 1];
	for (__u32 i = 0; i < WEIR_V6_LENGTHS; i++) {
		__u32 length;
		int slot;

		if (i >= lengths->count)
			break;
		length = lengths->length[i];
		slot = weir_probe6(high & weir_mask_high(length), low & weir_mask_low(length),
				   weir_prefix_tag(domain, length));
		if (slot >= 0)
			return slot;
	}
	return 0;
}

#endif
