// SPDX-License-Identifier: Apache-2.0
/*
 * How long processors spin for locks: programs at the kernel's tracepoints, with links that end with this process, what
 * they counted, and whether this kernel tells of such waits at all.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir/lock.h"
#include "weir_locks.skel.h"

#define TAKERS 4
#define TRIES 20
#define RUNS_OF_A_TRY 100

struct weir_locks_run {
	struct weir_locks *object;
	struct bpf_link *begin, *end;
	struct weir_lock_row *rows; /* of one kind: a row of each processor */
	int cpus;
};

static void *take(void *context)
{
	char frame[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = sizeof(frame),
		    .repeat = RUNS_OF_A_TRY);

	bpf_prog_test_run_opts(*(int *)context, &options);
	return NULL;
}

/* Several processors want one lock at once, for some milliseconds. */
static void contend(int program_fd)
{
	pthread_t threads[TAKERS];
	int started = 0;

	while (started < TAKERS && !pthread_create(&threads[started], NULL, take, &program_fd))
		started++;
	while (started > 0)
		pthread_join(threads[--started], NULL);
}

static uint64_t spin_waits(struct weir_locks_run *run)
{
	uint32_t kind = 0;
	uint64_t waits = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(run->object->maps.lock_rows), &kind, run->rows))
		return 0;
	for (int cpu = 0; cpu < run->cpus; cpu++)
		waits += run->rows[cpu].waited;
	return waits;
}

/* Whether the kernel tells of a wait that there certainly is. */
static int try_out(struct weir_locks_run *run)
{
	int fd = bpf_program__fd(run->object->progs.locks_take), error = weir_locks_watch(run, 1);
	bool is_told = false;

	for (int again = 0; !error && !is_told && again < TRIES; again++) {
		contend(fd);
		is_told = spin_waits(run) > 0;
	}
	weir_locks_watch(run, 0);
	if (error || is_told)
		return error;
	return weir_fail(EOPNOTSUPP,
			 "this kernel does not tell how long spin locks are waited for (a virtual machine "
			 "without paravirtual locks, or two cores of a real one)");
}

static int load(struct weir_locks_run *run)
{
	libbpf_print_fn_t before = libbpf_set_print(weir_silent);
	int error = 0;

	run->object = weir_locks__open_and_load();
	if (!run->object)
		error = weir_fail(errno, "the kernel refuses programs at the tracepoints of locks: %s",
				  strerror(errno));
	libbpf_set_print(before);
	return error;
}

int weir_locks_open(struct weir_locks_run **out)
{
	struct weir_locks_run *run = calloc(1, sizeof(*run));
	int cpus = libbpf_num_possible_cpus(), error;

	if (!run || cpus < 1 || !(run->rows = calloc(cpus, sizeof(*run->rows)))) {
		free(run);
		return weir_fail(ENOMEM, "no memory");
	}
	run->cpus = cpus;
	error = load(run);
	if (!error)
		error = try_out(run);
	if (error) {
		weir_locks_close(run);
		return error;
	}
	*out = run;
	return cpus;
}

int weir_locks_watch(struct weir_locks_run *run, int on)
{
	int fd = bpf_map__fd(run->object->maps.lock_rows);
	struct timespec now;

	bpf_link__destroy(run->end);
	bpf_link__destroy(run->begin);
	run->begin = run->end = NULL;
	if (!on)
		return 0;
	memset(run->rows, 0, run->cpus * sizeof(*run->rows));
	for (uint32_t kind = 0; kind < WEIR_LOCK_KINDS; kind++)
		if (bpf_map_update_elem(fd, &kind, run->rows, BPF_ANY))
			return weir_fail(errno, "counts of lock waits cannot be written: %s",
					 strerror(errno));
	clock_gettime(CLOCK_MONOTONIC, &now);
	run->object->bss->locks_since = (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	run->end = bpf_program__attach(run->object->progs.locks_end);
	if (run->end)
		run->begin = bpf_program__attach(run->object->progs.locks_begin);
	if (run->begin)
		return 0;
	weir_fail(errno, "the tracepoints of locks cannot be used: %s", strerror(errno));
	weir_locks_watch(run, 0);
	return -ENODEV;
}

int weir_locks_read(struct weir_locks_run *run, struct weir_lock_row *out)
{
	int fd = bpf_map__fd(run->object->maps.lock_rows);

	for (uint32_t kind = 0; kind < WEIR_LOCK_KINDS; kind++) {
		if (bpf_map_lookup_elem(fd, &kind, run->rows))
			return weir_fail(errno, "counts of lock waits cannot be read: %s", strerror(errno));
		for (int cpu = 0; cpu < run->cpus; cpu++)
			out[cpu * WEIR_LOCK_KINDS + kind] = run->rows[cpu];
	}
	return run->cpus * WEIR_LOCK_KINDS;
}

void weir_locks_close(struct weir_locks_run *run)
{
	if (run->object)
		weir_locks_watch(run, 0);
	weir_locks__destroy(run->object);
	free(run->rows);
	free(run);
}
