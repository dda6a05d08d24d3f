/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IPv4 longest-prefix match in at most three steps of 16, 8 and 8 bits (layout: weir/abi.h); two where
 * prefixes are scattered, or addresses in turn have slots in turn, so that a lookup among very many touches
 * one line of memory besides the root.
 *
 * The loader writes a changed node again and publishes it by one store into its parent, and reuses a
 * node's memory only after a grace period: a lookup sees the table before or after, never between.
 */
#ifndef WEIR_BPF_LOOKUP4_H
#define WEIR_BPF_LOOKUP4_H

#include "weir/abi.h"

#include "table.h"

WEIR_TABLE(struct weir_v4_unit, weir_v4);

const volatile __u32 weir_v4_units = WEIR_SECTION_ROWS; /* rows */
const volatile __u32 weir_v4_words = WEIR_SECTION_ROWS * WEIR_V4_UNIT_WORDS;

/* NULL: not of the table. */
static __always_inline struct weir_v4_unit *weir_v4_unit(__u32 unit)
{
	return weir_row_below(weir_v4, unit, weir_v4_units);
}

/* `place` counts words of the table. */
static __always_inline __u32 weir_v4_word(__u32 place)
{
	__u64 at = place;

	asm volatile("" : "+r"(at)); /* as in weir_row_below */
	return at < weir_v4_words ? *(volatile __u32 *)((void *)weir_row(weir_v4, 0) + at * sizeof(__u32)) :
				    0;
}

/* The shift takes the node's flags off. */
static __always_inline __u32 weir_v4_first_word(__u32 node)
{
	return node << WEIR_V4_FLAGS;
}

static __always_inline __u32 weir_v4_packed_child(__u32 node, __u32 index)
{
	struct weir_v4_unit *first = weir_v4_unit(node & WEIR_V4_UNIT);
	__u64 starts;
	__u32 word;

	if (!first)
		return 0;
	starts = first->starts[index / 64 % 4] & ~0ULL >> (63 - index % 64);
	word = WEIR_V4_RUNS_AT - 1 + first->before[index / 64 % 4] + __builtin_popcountll(starts);
	return weir_v4_word(weir_v4_first_word(node) + word);
}

static __always_inline bool weir_v4_is_plain(__u32 entry)
{
	return entry >= (WEIR_V4_NODE | WEIR_V4_PLAIN); /* the upper two bits */
}

static __always_inline __u32 weir_v4_child(__u32 node, __u32 index)
{
	if (weir_v4_is_plain(node))
		return weir_v4_word(weir_v4_first_word(node) + index);
	return weir_v4_packed_child(node, index);
}

static __always_inline __u32 weir_v4_run(__u32 node, __u32 low)
{
	__u32 unit = node & WEIR_V4_UNIT, run = 0;
	struct weir_v4_unit *sparse = weir_v4_unit(unit);

	if (!sparse)
		return 0;
#pragma unroll
	for (__u32 i = 1; i < WEIR_V4_SPARSE_RUNS; i++) {
		if (sparse->begins[i] > low)
			break;
		run = i;
	}
	return *(volatile __u32 *)&sparse->runs[run];
}

static __always_inline __u32 weir_v4_slot(__u32 leaf, __u32 address)
{
	if (leaf & WEIR_V4_COUNTS)
		leaf += address & 0xff;
	return leaf & WEIR_V4_SLOT;
}

static __always_inline __u32 weir_lookup4(__u32 domain, __u32 address)
{
	__u32 entry = weir_v4_word(domain << 16 | address >> 16);

	if (weir_v4_is_plain(entry))
		entry = weir_v4_word(weir_v4_first_word(entry) + (address >> 8 & 0xff));
	else if (entry & WEIR_V4_NODE && entry & WEIR_V4_SPARSE)
		return weir_v4_run(entry, address & 0xffff) & WEIR_V4_SLOT;
	else if (entry & WEIR_V4_NODE)
		entry = weir_v4_packed_child(entry, address >> 8 & 0xff);
	if (entry & WEIR_V4_NODE)
		entry = weir_v4_child(entry, address & 0xff);
	return entry & WEIR_V4_NODE ? 0 : weir_v4_slot(entry, address);
}

#endif
