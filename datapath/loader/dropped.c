// SPDX-License-Identifier: Apache-2.0
/*
 * Why the kernel drops packets: a program at the tracepoint of drops, with a link that ends with this process, what it
 * counted, and how this kernel names its reasons.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir/dropped.h"
#include "weir_dropped.skel.h"

#define PREFIX "SKB_DROP_REASON_"
#define NAME_BYTES 48

struct weir_dropped_run {
	struct weir_dropped *object;
	struct bpf_link *link;
	struct weir_dropped_last *lasts; /* of one reason: of each processor */
	uint64_t *counts;
	int cpus;
	char names[WEIR_DROPPED_LAST][NAME_BYTES];
};

/* From the kernel's own types: numbers differ from one kernel to the next. */
static int learn_names(struct weir_dropped_run *run)
{
	struct btf *types = btf__load_vmlinux_btf();
	const struct btf_type *reasons;
	const struct btf_enum *each;
	int id;

	if (!types)
		return -errno;
	id = btf__find_by_name_kind(types, "skb_drop_reason", BTF_KIND_ENUM);
	if (id < 0) {
		btf__free(types);
		return -EOPNOTSUPP;
	}
	reasons = btf__type_by_id(types, id);
	each = btf_enum(reasons);
	for (int at = 0; at < btf_vlen(reasons); at++, each++) {
		const char *name = btf__name_by_offset(types, each->name_off);

		if ((uint32_t)each->val < WEIR_DROPPED_LAST && !strncmp(name, PREFIX, strlen(PREFIX)))
			snprintf(run->names[each->val], NAME_BYTES, "%s", name + strlen(PREFIX));
	}
	btf__free(types);
	return 0;
}

static int load(struct weir_dropped_run *run, uint32_t namespace)
{
	int error = learn_names(run);

	if (error)
		return error;
	run->object = weir_dropped__open();
	if (!run->object)
		return -errno;
	run->object->rodata->dropped_namespace = namespace;
	return weir_dropped__load(run->object);
}

static int refuse(struct weir_dropped_run *run, int error)
{
	weir_dropped_close(run);
	if (error == -EOPNOTSUPP || error == -ENOENT || error == -ESRCH)
		return weir_fail(EOPNOTSUPP, "this kernel does not tell why it drops packets "
					     "(it needs Linux 5.17 with types of its own)");
	return weir_fail(-error, "the kernel refuses programs at the tracepoint of drops: %s",
			 strerror(-error));
}

static int prepare(struct weir_dropped_run *run, uint32_t namespace)
{
	libbpf_print_fn_t before = libbpf_set_print(weir_silent);
	int error = -ENOMEM;

	run->cpus = libbpf_num_possible_cpus();
	if (run->cpus > 0) {
		run->lasts = calloc(run->cpus, sizeof(*run->lasts));
		run->counts = calloc(run->cpus, sizeof(*run->counts));
	}
	if (run->lasts && run->counts)
		error = load(run, namespace);
	libbpf_set_print(before);
	return error;
}

int weir_dropped_open(struct weir_dropped_run **out)
{
	uint32_t namespace;
	int error = weir_own_namespace(&namespace);

	if (error)
		return error;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return weir_fail(ENOMEM, "no memory");
	error = prepare(*out, namespace);
	return error ? refuse(*out, error) : 0;
}

static int forget(struct weir_dropped_run *run)
{
	int rows = bpf_map__fd(run->object->maps.dropped_rows),
	    lasts = bpf_map__fd(run->object->maps.dropped_last);
	struct weir_dropped_key key;
	uint64_t no_packets = 0;

	while (!bpf_map_get_next_key(rows, NULL, &key))
		if (bpf_map_delete_elem(rows, &key))
			return -errno;
	memset(run->lasts, 0, run->cpus * sizeof(*run->lasts));
	for (uint32_t reason = 0; reason < WEIR_DROPPED_LAST; reason++)
		if (bpf_map_update_elem(lasts, &reason, run->lasts, BPF_ANY))
			return -errno;
	memset(run->counts, 0, run->cpus * sizeof(no_packets));
	key.reason = key.ifindex = 0;
	return bpf_map_update_elem(rows, &key, run->counts, BPF_ANY) ? -errno : 0;
}

int weir_dropped_watch(struct weir_dropped_run *run, int on)
{
	int error;

	bpf_link__destroy(run->link);
	run->link = NULL;
	if (!on)
		return 0;
	error = forget(run);
	if (error)
		return weir_fail(-error, "counts of drops cannot be written: %s", strerror(-error));
	run->link = bpf_program__attach(run->object->progs.dropped_seen);
	if (!run->link)
		return weir_fail(errno, "the tracepoint of drops cannot be used: %s", strerror(errno));
	return 0;
}

/* Adds to a row that is there, or makes one. */
static uint32_t add(struct weir_dropped_state *out, uint32_t count, uint32_t capacity, uint32_t reason,
		    uint32_t ifindex, uint64_t packets)
{
	for (uint32_t at = 0; at < count; at++)
		if (out[at].reason == reason && out[at].ifindex == ifindex) {
			out[at].packets += packets;
			return count;
		}
	if (!packets || count >= capacity)
		return count;
	out[count] = (struct weir_dropped_state){ .reason = reason, .ifindex = ifindex, .packets = packets };
	return count + 1;
}

static uint32_t read_rows(struct weir_dropped_run *run, struct weir_dropped_state *out, uint32_t capacity)
{
	int fd = bpf_map__fd(run->object->maps.dropped_rows);
	struct weir_dropped_key key, *before = NULL;
	uint32_t count = 0;

	while (count < capacity && !bpf_map_get_next_key(fd, before, &key)) {
		uint64_t packets = 0;

		before = &key;
		if (bpf_map_lookup_elem(fd, &key, run->counts))
			continue;
		for (int cpu = 0; cpu < run->cpus; cpu++)
			packets += run->counts[cpu];
		if (packets)
			out[count++] = (struct weir_dropped_state){ key.reason, key.ifindex, packets };
	}
	return count;
}

int weir_dropped_read(struct weir_dropped_run *run, struct weir_dropped_state *out, uint32_t capacity)
{
	int fd = bpf_map__fd(run->object->maps.dropped_last);
	uint32_t count = read_rows(run, out, capacity);

	for (uint32_t reason = 0; reason < WEIR_DROPPED_LAST; reason++) {
		if (bpf_map_lookup_elem(fd, &reason, run->lasts))
			return weir_fail(errno, "counts of drops cannot be read: %s", strerror(errno));
		for (int cpu = 0; cpu < run->cpus; cpu++)
			count = add(out, count, capacity, reason, run->lasts[cpu].ifindex,
				    run->lasts[cpu].packets);
	}
	return count;
}

const char *weir_dropped_name(struct weir_dropped_run *run, uint32_t reason)
{
	return reason < WEIR_DROPPED_LAST ? run->names[reason] : "";
}

void weir_dropped_close(struct weir_dropped_run *run)
{
	bpf_link__destroy(run->link);
	weir_dropped__destroy(run->object);
	free(run->lasts);
	free(run->counts);
	free(run);
}
