// SPDX-License-Identifier: Apache-2.0
/*
 * How long softirqs wait and run: programs at the kernel's tracepoints, with links that end with this process, and
 * what they counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir/softirq.h"
#include "weir_softirq.skel.h"

#define POINTS 4

struct weir_softirq_run {
	struct weir_softirq *object;
	struct bpf_program *programs[POINTS];
	struct bpf_link *links[POINTS];
	struct weir_softirq_row *rows; /* of one vector: a row of each processor */
	int cpus;
};

/* With the kernel's types, or without where it has none or refuses them. */
static int load(struct weir_softirq_run *run, bool typed)
{
	struct weir_softirq *object = weir_softirq__open();
	int error;

	if (!object)
		return -errno;
	struct bpf_program *with[POINTS] = { object->progs.tp_btf_entered, object->progs.tp_btf_left,
					     object->progs.tp_btf_polled, object->progs.tp_btf_raised };
	struct bpf_program *without[POINTS] = { object->progs.raw_tp_entered, object->progs.raw_tp_left,
						object->progs.raw_tp_polled, object->progs.raw_tp_raised };
	for (int at = 0; at < POINTS; at++) {
		bpf_program__set_autoload(typed ? without[at] : with[at], false);
		run->programs[at] = typed ? with[at] : without[at];
	}
	error = weir_softirq__load(object);
	if (error) {
		weir_softirq__destroy(object);
		return error;
	}
	run->object = object;
	return 0;
}

int weir_softirq_open(int untyped, struct weir_softirq_run **out)
{
	struct weir_softirq_run *run = calloc(1, sizeof(*run));
	libbpf_print_fn_t before;
	int error;

	if (!run)
		return weir_fail(ENOMEM, "no memory");
	run->cpus = libbpf_num_possible_cpus();
	run->rows = run->cpus > 0 ? calloc(run->cpus, sizeof(*run->rows)) : NULL;
	before = libbpf_set_print(weir_silent);
	error = run->rows ? untyped ? load(run, false) : load(run, true) : -ENOMEM;
	if (error && run->rows && !untyped)
		error = load(run, false);
	libbpf_set_print(before);
	if (error) {
		weir_softirq_close(run);
		return weir_fail(-error, "the kernel refuses programs at the tracepoints of softirqs: %s",
				 strerror(-error));
	}
	*out = run;
	return run->cpus;
}

static void detach(struct weir_softirq_run *run)
{
	for (int at = POINTS - 1; at >= 0; at--) {
		bpf_link__destroy(run->links[at]);
		run->links[at] = NULL;
	}
}

static int forget(struct weir_softirq_run *run)
{
	memset(run->rows, 0, run->cpus * sizeof(*run->rows));
	for (uint32_t vector = 0; vector < WEIR_SOFTIRQS; vector++)
		if (bpf_map_update_elem(bpf_map__fd(run->object->maps.softirq_rows), &vector, run->rows,
					BPF_ANY))
			return -errno;
	return 0;
}

int weir_softirq_watch(struct weir_softirq_run *run, int on)
{
	struct timespec now;
	int error;

	detach(run);
	if (!on)
		return 0;
	error = forget(run);
	if (error)
		return weir_fail(-error, "counts of softirqs cannot be written: %s", strerror(-error));
	clock_gettime(CLOCK_MONOTONIC, &now);
	run->object->bss->softirq_since = (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	for (int at = 0; at < POINTS; at++) {
		run->links[at] = bpf_program__attach(run->programs[at]);
		if (!run->links[at]) {
			error = errno;
			detach(run);
			return weir_fail(error, "the tracepoints of softirqs cannot be used: %s",
					 strerror(error));
		}
	}
	return 0;
}

static void sum_tails(struct weir_softirq_row *row)
{
	row->late = row->longer = 0;
	for (int step = WEIR_SOFTIRQ_LATE_STEP; step < WEIR_SOFTIRQ_STEPS; step++)
		row->late += row->waits[step];
	for (int step = WEIR_SOFTIRQ_LONG_STEP; step < WEIR_SOFTIRQ_STEPS; step++)
		row->longer += row->runs[step];
}

int weir_softirq_read(struct weir_softirq_run *run, struct weir_softirq_row *out)
{
	int fd = bpf_map__fd(run->object->maps.softirq_rows);

	for (uint32_t vector = 0; vector < WEIR_SOFTIRQS; vector++) {
		if (bpf_map_lookup_elem(fd, &vector, run->rows))
			return weir_fail(errno, "counts of softirqs cannot be read: %s", strerror(errno));
		for (int cpu = 0; cpu < run->cpus; cpu++) {
			sum_tails(&run->rows[cpu]);
			out[cpu * WEIR_SOFTIRQS + vector] = run->rows[cpu];
		}
	}
	return run->cpus * WEIR_SOFTIRQS;
}

void weir_softirq_close(struct weir_softirq_run *run)
{
	detach(run);
	weir_softirq__destroy(run->object);
	free(run->rows);
	free(run);
}
