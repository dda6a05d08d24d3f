/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources of which only so many packets a second are taken, whatever they are for: who scans an address range makes the
 * router look up a route, a connection and a neighbour for each packet, and here it is dropped before any of these.
 *
 * weir_bounded: a trie of the kernel's, by prefix of the source; the loader writes, programs read and count. Nobody asks it
 * while it is empty: ports have WEIR_ROLE_BOUNDED only then (docs/adr/0228).
 *
 * Concurrency: two packets at once after a pause may both be taken; clocks and counters are atomic otherwise.
 */
#ifndef WEIR_BPF_BOUNDED_H
#define WEIR_BPF_BOUNDED_H

#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "parse.h"

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, WEIR_BOUNDED_MAX);
	__type(key, struct weir_bounded_key);
	__type(value, struct weir_bounded);
} weir_bounded SEC(".maps");

/* Who is asked for: not on the stack, of which the programs have none left (as weir_question in checks.h). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weir_bounded_key);
} weir_bounded_asked SEC(".maps");

static __always_inline struct weir_bounded *weir_bounded_find(const struct weir_packet *source)
{
	__u32 zero = 0;
	struct weir_bounded_key *key = bpf_map_lookup_elem(&weir_bounded_asked, &zero);

	if (!key)
		return NULL; /* not with an array */
	key->bits = 128;
	key->word[0] = key->word[1] = 0;
	if (source->family == 4) {
		key->word[2] = bpf_htonl(0xffff);
		key->word[3] = bpf_htonl(source->high);
	} else {
		key->word[0] = bpf_htonl(source->high >> 32);
		key->word[1] = bpf_htonl(source->high);
		key->word[2] = bpf_htonl(source->low >> 32);
		key->word[3] = bpf_htonl(source->low);
	}
	return bpf_map_lookup_elem(&weir_bounded, key);
}

/* Whether one packet more of this source is too many; it is counted. */
static __noinline bool weir_is_over_bound(const struct weir_packet *source)
{
	struct weir_bounded *bounded = source ? weir_bounded_find(source) : NULL;
	__u64 now_ns, clock_ns;

	if (!bounded)
		return false;
	now_ns = bpf_ktime_get_ns();
	clock_ns = *(volatile __u64 *)&bounded->clock_ns;
	if (clock_ns > now_ns) {
		__sync_fetch_and_add(&bounded->dropped, 1);
		return true;
	}
	if (clock_ns + bounded->burst_ns < now_ns)
		*(volatile __u64 *)&bounded->clock_ns = now_ns - bounded->burst_ns + bounded->cost_ns;
	else
		__sync_fetch_and_add(&bounded->clock_ns, bounded->cost_ns);
	__sync_fetch_and_add(&bounded->passed, 1);
	return false;
}

#endif
