// SPDX-License-Identifier: Apache-2.0
/*
 * Who scans networks: programs at the kernel's tracepoints of route lookups, with links that end with this process, and what
 * they counted.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir/scan.h"
#include "weir_scan.skel.h"

struct weir_scan_run {
	struct weir_scan *object;
	struct bpf_link *links[2];
};

static int load(struct weir_scan_run *run, uint32_t namespace)
{
	int error;

	run->object = weir_scan__open();
	if (!run->object)
		return -errno;
	run->object->rodata->scan_namespace = namespace;
	error = weir_scan__load(run->object);
	if (error) {
		weir_scan__destroy(run->object);
		run->object = NULL;
	}
	return error;
}

int weir_scan_open(struct weir_scan_run **out)
{
	struct weir_scan_run *run = calloc(1, sizeof(*run));
	libbpf_print_fn_t before;
	uint32_t own;
	int error = weir_own_namespace(&own);

	if (error || !run) {
		free(run);
		return error ? error : weir_fail(ENOMEM, "no memory");
	}
	before = libbpf_set_print(weir_silent);
	error = load(run, own);
	libbpf_set_print(before);
	if (error) {
		free(run);
		return weir_fail(-error,
				 "the kernel refuses programs at the tracepoints of route lookups: %s",
				 strerror(-error));
	}
	*out = run;
	return 0;
}

static void detach(struct weir_scan_run *run)
{
	for (int at = 0; at < 2; at++) {
		bpf_link__destroy(run->links[at]);
		run->links[at] = NULL;
	}
}

static void forget(int fd)
{
	struct weir_scan_key key;

	while (!bpf_map_get_next_key(fd, NULL, &key))
		if (bpf_map_delete_elem(fd, &key))
			return;
}

int weir_scan_watch(struct weir_scan_run *run, int on)
{
	struct bpf_program *programs[] = { run->object->progs.scan_v4, run->object->progs.scan_v6 };

	detach(run);
	if (!on)
		return 0;
	forget(bpf_map__fd(run->object->maps.scan_sources));
	for (int at = 0; at < 2; at++) {
		run->links[at] = bpf_program__attach(programs[at]);
		if (!run->links[at]) {
			int error = errno;

			detach(run);
			return weir_fail(error, "the tracepoints of route lookups cannot be used: %s",
					 strerror(error));
		}
	}
	return 0;
}

/* Linear counting (Whang, Vander-Zanden and Taylor, 1990): of m bits z are not set after about m ln(m/z) values. */
static uint32_t destinations(const struct weir_scan_row *row)
{
	uint32_t set = 0, clear;

	for (int word = 0; word < WEIR_SCAN_WORDS; word++)
		set += __builtin_popcountll(row->bits[word]);
	clear = WEIR_SCAN_BITS - set;
	return lround(WEIR_SCAN_BITS * log((double)WEIR_SCAN_BITS / (clear ? clear : 1)));
}

int weir_scan_read(struct weir_scan_run *run, uint32_t least, struct weir_scan_state *out, uint32_t capacity)
{
	int fd = bpf_map__fd(run->object->maps.scan_sources);
	struct weir_scan_key key, *before = NULL;
	struct weir_scan_row row;
	uint32_t count = 0;

	while (count < capacity && !bpf_map_get_next_key(fd, before, &key)) {
		struct weir_scan_state *state = &out[count];

		before = &key;
		if (bpf_map_lookup_elem(fd, &key, &row) || destinations(&row) < least)
			continue;
		state->lookups = row.lookups;
		state->destinations = destinations(&row);
		memcpy(state->address, key.word, sizeof(key.word));
		count++;
	}
	return count;
}

void weir_scan_close(struct weir_scan_run *run)
{
	detach(run);
	weir_scan__destroy(run->object);
	free(run);
}
