// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of all lines for a process that only reads: an iterator (BPF_ITER_CREATE) whose text is one struct
 * weir_reading for each line, in their order. A read-only descriptor of an array cannot be mapped, and the
 * kernel's lookup of many takes some 300 ns a row; this takes a tenth of it.
 *
 * It walks weir_blocks, which is there for its number of entries only: each stands for WEIR_READ_LINES lines, so that
 * the kernel's own work for an entry is shared by them. What does not fit the reader's buffer any more is
 * read again with the next one: nothing here changes anything.
 */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "weir/abi.h"

#include "law.h"
#include "line.h"

/* Of the kernel (include/linux/bpf.h): what is given to an iterator's program. */
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	void *map;
	void *key;
	void *value;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader */
	__type(key, __u32);
	__type(value, __u64);
} weir_blocks SEC(".maps");

/* The longest wait of the last one to two seconds. */
static __always_inline __u32 weir_worst_us(const struct weir_backlog *backlog, __u32 now)
{
	__u32 spans = (now >> WEIR_SPAN_SHIFT) - (backlog->updated >> WEIR_SPAN_SHIFT);

	if (spans > 1)
		return 0;
	if (spans || backlog->worst_us > backlog->worst_before_us)
		return backlog->worst_us;
	return backlog->worst_before_us;
}

static __always_inline bool weir_read_line(__u32 index, __u32 now, struct weir_reading *reading)
{
	struct weir_line *line = weir_line(index);
	struct weir_detail *detail = bpf_map_lookup_elem(&weir_details, &index);
	struct weir_backlog *backlog = bpf_map_lookup_elem(&weir_waits, &index);

	if (!line || !detail || !backlog)
		return false;
	reading->fast_bytes = line->fast_bytes;
	reading->bytes = line->bytes + reading->fast_bytes;
	reading->packets = line->packets;
	reading->drop_packets = detail->drop_packets;
	reading->mark_packets = detail->mark_packets;
	reading->delay_us = detail->delay_us;
	reading->ancestor_drop_packets = detail->ancestor_drop_packets;
	reading->early_packets = backlog->early_packets;
	reading->worst_us = weir_worst_us(backlog, now);
	return true;
}

SEC("iter/bpf_map_elem")
int weir_read(struct bpf_iter__bpf_map_elem *context)
{
	__u32 now = bpf_ktime_get_ns() >> WEIR_UPDATED_SHIFT;
	struct seq_file *seq = context->meta->seq;
	struct weir_reading reading = {};
	const __u32 *block = context->key;
	__u32 first;

	if (!block)
		return 0;
	first = *block * WEIR_READ_LINES;
	for (__u32 i = 0; i < WEIR_READ_LINES; i++) {
		if (!weir_read_line(first + i, now, &reading))
			break;
		bpf_seq_write(seq, &reading, sizeof(reading));
	}
	return 0;
}

char LICENSE[] SEC("license")
= "GPL";
