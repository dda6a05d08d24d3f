// SPDX-License-Identifier: Apache-2.0
/*
 * Prints the datapath's own figures as a JSON list of rows: lookups in 100,000 scattered prefixes, the
 * memory they take, and the time to store classes. Needs root; attaches nothing.
 *   build/datapath/datapath_bench
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "lookup_bench.skel.h"
#include "weir.h"

#define PREFIXES 100000
#define ADDRESSES 131072
#define CLASSES 10000
#define ROUNDS 9

struct row {
	const char *id, *what, *unit;
};

static double values[ROUNDS];
static int row_count;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* xorshift64*: the same addresses in every run */
static uint64_t random_bits(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717ULL;
}

static void print_row(const struct row *row)
{
	printf("%s{\"id\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", \"values\": [",
	       row_count++ ? ",\n " : "[", row->id, row->what, row->unit);
	for (int round = 0; round < ROUNDS; round++)
		printf("%s%.6g", round ? ", " : "", values[round]);
	printf("]}");
}

static void same_value(double value)
{
	for (int round = 0; round < ROUNDS; round++)
		values[round] = value;
}

static int fill(struct weir *weir, int family, struct weir_prefix_spec *specs)
{
	for (int i = 0; i < PREFIXES; i++) {
		uint64_t bits = random_bits();

		specs[i] = (struct weir_prefix_spec){
			.high = family == 4 ? bits >> 32 : bits,
			.slot = i + 1,
			.family = family,
			.length = family == 4 ? 32 : 64,
		};
	}
	return weir_prefixes_change(weir, NULL, 0, specs, PREFIXES);
}

/* Every address is in one of the prefixes, in no order. */
static int give_addresses(struct bpf_object *object, const struct weir_prefix_spec *specs)
{
	int fd = bpf_object__find_map_fd_by_name(object, "bench_addresses");
	uint64_t *addresses = mmap(NULL, ADDRESSES * 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (addresses == MAP_FAILED)
		return -errno;
	for (int i = 0; i < ADDRESSES; i++) {
		addresses[i * 2] = specs[random_bits() % PREFIXES].high;
		addresses[i * 2 + 1] = random_bits();
	}
	munmap(addresses, ADDRESSES * 16);
	return 0;
}

/* Negative: it failed, or did not find what it should. */
static double run_ns(struct bpf_object *object, const char *name, uint32_t found)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	char packet[64] = {};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet, .data_size_in = sizeof(packet));

	if (bpf_prog_test_run_opts(bpf_program__fd(program), &options) || options.retval != found)
		return -1;
	return (double)options.duration / ADDRESSES;
}

/* The loop and the reading of addresses are measured alone and taken away. */
static int measure_lookups(struct weir *weir, struct bpf_object *object, int family, const struct row *row)
{
	struct weir_prefix_spec *specs = calloc(PREFIXES, sizeof(*specs));
	const char *name = family == 4 ? "bench_v4" : "bench_v6";
	int error = specs ? fill(weir, family, specs) : -ENOMEM;

	error = error ?: give_addresses(object, specs);
	for (int round = 0; round < ROUNDS && !error; round++) {
		double none = run_ns(object, "bench_none", 0), all = run_ns(object, name, ADDRESSES);

		if (none < 0 || all < 0)
			error = -EIO;
		values[round] = all - none;
	}
	if (!error)
		print_row(row);
	free(specs);
	return error;
}

static int measure_memory(struct weir *weir, uint32_t empty_units)
{
	static const struct row table = { "lookup-v4-mb",
					  "memory of the v4 table, 100,000 scattered prefixes", "MB" };
	struct weir_usage usage;
	int error = weir_usage(weir, &usage);

	same_value((usage.v4_units_used - empty_units + 4096) * 64 / 1e6);
	print_row(&table);
	return error;
}

static int measure_classes(struct weir *weir)
{
	static const struct row all = { "apply-10k", "10,000 classes into the kernel", "ms" };
	static const struct row one = { "apply-one", "one class into the kernel", "ms" };
	struct weir_class_spec *specs = calloc(CLASSES, sizeof(*specs));
	double single[ROUNDS];
	int error = specs ? 0 : -ENOMEM;

	for (int round = 0; round < ROUNDS && !error; round++) {
		uint64_t began;

		for (int i = 0; i < CLASSES; i++) {
			specs[i] = (struct weir_class_spec){ .slot = i + 1, .key = i + 1 + round };
			specs[i].line[0].rate_bps = specs[i].line[1].rate_bps = 10000000 + round;
		}
		began = now_ns();
		error = weir_classes_write(weir, specs, CLASSES);
		values[round] = (now_ns() - began) / 1e6;
		specs[0].line[0].rate_bps++;
		began = now_ns();
		error = error ?: weir_classes_write(weir, specs, 1);
		single[round] = (now_ns() - began) / 1e6;
	}
	print_row(&all);
	memcpy(values, single, sizeof(values));
	print_row(&one);
	free(specs);
	return error;
}

/* The lookups under test read the tables of this datapath. */
static struct lookup_bench *open_lookups(struct weir *weir)
{
	static const char *const names[] = { "weir_v4", "weir_prefix6", "weir_meta" };
	struct lookup_bench *bench = lookup_bench__open();
	struct weir_usage usage;
	int error = bench ? weir_usage(weir, &usage) : -EIO;

	if (!error) {
		bench->rodata->weir_prefix_mask = 262144 - 1; /* of 131,072 prefixes */
		bench->rodata->weir_v4_units = usage.v4_units;
		bench->rodata->weir_v4_words = bench->rodata->weir_v4_units * WEIR_V4_UNIT_WORDS;
	}
	for (int i = 0; i < 3 && !error; i++)
		error = weir_object_use(bench->obj, names[i], weir_map_fd(weir, names[i], 0));
	if (!error && !bpf_object__load(bench->obj))
		return bench;
	lookup_bench__destroy(bench);
	return NULL;
}

int main(void)
{
	static const struct row v4 = { "lookup-v4-ns",
				       "lookup in 100,000 scattered v4 prefixes, random addresses", "ns" };
	static const struct row v6 = { "lookup-v6-ns",
				       "lookup in 100,000 scattered v6 prefixes, random addresses", "ns" };
	struct weir_options options = { .slots = 131072 };
	struct lookup_bench *bench = NULL;
	struct weir *weir = NULL;
	struct weir_usage empty;
	int reused, error;

	error = weir_open(NULL, &options, &weir, &reused);
	if (!error)
		bench = open_lookups(weir);
	error = error ?: bench ? 0 : -EIO;
	error = error ?: weir_usage(weir, &empty);
	error = error ?: measure_lookups(weir, bench->obj, 4, &v4);
	error = error ?: measure_memory(weir, empty.v4_units_used);
	error = error ?: measure_lookups(weir, bench->obj, 6, &v6);
	error = error ?: measure_classes(weir);
	if (error)
		fprintf(stderr, "datapath_bench: %s: %s\n", strerror(-error), weir_error());
	else
		printf("]\n");
	lookup_bench__destroy(bench);
	weir_close(weir);
	return error ? 1 : 0;
}
