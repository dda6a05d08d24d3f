/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Put before the datapath's programs (-include), takes the place of lookup4.h: the same programs with the kernel's
 * LPM trie to find the class of an IPv4 address, as a yardstick for our table. bench/trie.py fills it.
 */
#ifndef WEIR_BPF_LOOKUP4_H
#define WEIR_BPF_LOOKUP4_H

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "../../datapath/bpf/table.h"

/* The loader has our own table and its sizes brought in, though no program looks there. */
WEIR_TABLE(struct weir_v4_unit, weir_v4);

const volatile __u32 weir_v4_units = WEIR_SECTION_ROWS, weir_v4_words = WEIR_SECTION_ROWS;

struct weir_trie_key {
	__u32 length; /* of domain and prefix */
	__be32 domain;
	__be32 address;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 131072);
	__type(key, struct weir_trie_key);
	__type(value, __u32);
} weir_trie SEC(".maps");

/* Not inlined: the programs have no room for the key in their own part of the stack. Some look nothing up. */
static __attribute__((noinline, unused)) __u32 weir_lookup4(__u32 domain, __u32 address)
{
	struct weir_trie_key key = { 64, bpf_htonl(domain), bpf_htonl(address) };
	__u32 *slot = bpf_map_lookup_elem(&weir_trie, &key);

	return slot ? *slot : 0;
}

#endif
