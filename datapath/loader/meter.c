// SPDX-License-Identifier: Apache-2.0
/* What lookups cost: programs that are run where nothing is attached, and their times. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir/meter.h"
#include "weir_meters.skel.h"

#define ROUNDS 5
#define LOOKUPS 500 /* of routes, in a round */
#define FEW 4 /* of listeners; one may take a third of a millisecond */
#define FRAME 64

struct weir_meter {
	struct weir_meters *object;
};

int weir_meter_open(struct weir_meter **out)
{
	libbpf_print_fn_t before = libbpf_set_print(weir_silent);
	struct weir_meter *meter = calloc(1, sizeof(*meter));
	int error = 0;

	if (meter) {
		meter->object = weir_meters__open();
		error = meter->object ? weir_meters__load(meter->object) : -errno;
	}
	libbpf_set_print(before);
	if (!meter)
		return weir_fail(ENOMEM, "no memory");
	if (error) {
		weir_meter_close(meter);
		return weir_fail(-error, "the kernel refuses the programs that look up: %s",
				 strerror(-error));
	}
	*out = meter;
	return 0;
}

void weir_meter_close(struct weir_meter *meter)
{
	weir_meters__destroy(meter->object);
	free(meter);
}

static int by_value(const void *one, const void *other)
{
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

	return (a > b) - (a < b);
}

/* The median of some rounds: how long one run took in this mode. */
static int timed(struct weir_meter *meter, const struct bpf_program *program, uint32_t mode, int repeat,
		 uint32_t *out_ns)
{
	static const char frame[FRAME];
	uint32_t took[ROUNDS];

	meter->object->bss->meter_mode = mode;
	for (int round = 0; round < ROUNDS; round++) {
		LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = sizeof(frame),
			    .repeat = repeat);
		int error = bpf_prog_test_run_opts(bpf_program__fd(program), &options);

		if (error)
			return weir_fail(-error, "the kernel does not run the programs that look up: %s",
					 strerror(-error));
		if (options.retval)
			return weir_fail(EOPNOTSUPP,
					 "this kernel has no lookup without neighbors (Linux 6.3)");
		took[round] = options.duration;
	}
	qsort(took, ROUNDS, sizeof(*took), by_value);
	*out_ns = took[ROUNDS / 2];
	return 0;
}

static uint32_t beyond(uint32_t took, uint32_t nothing)
{
	return took > nothing ? took - nothing : 0;
}

int weir_meter_routes(struct weir_meter *meter, const struct weir_meter_routes_spec *spec, uint32_t *fixed_ns,
		      uint32_t *random_ns)
{
	const struct bpf_program *program = meter->object->progs.meter_route;
	uint32_t nothing, fixed, random;
	int error;

	meter->object->bss->meter_ifindex = spec->ifindex;
	meter->object->bss->meter_source = spec->source;
	meter->object->bss->meter_destination = spec->destination;
	error = timed(meter, program, WEIR_METER_NOTHING, LOOKUPS, &nothing);
	memset(meter->object->bss->meter_results, 0, sizeof(meter->object->bss->meter_results));
	error = error ?: timed(meter, program, WEIR_METER_FIXED, LOOKUPS, &fixed);
	error = error ?: timed(meter, program, WEIR_METER_RANDOM, LOOKUPS, &random);
	if (error)
		return error;
	if (meter->object->bss->meter_results[WEIR_METER_NOT_FORWARDING])
		return weir_fail(ENETDOWN, "forwarding is off, so no route is looked up");
	*fixed_ns = beyond(fixed, nothing);
	*random_ns = beyond(random, nothing);
	return 0;
}

int weir_meter_listener(struct weir_meter *meter, const struct weir_meter_end *from,
			const struct weir_meter_end *to, uint32_t *took_ns)
{
	const struct bpf_program *program = meter->object->progs.meter_listener;
	uint32_t nothing, took;
	int error;

	meter->object->bss->meter_from = *from;
	meter->object->bss->meter_to = *to;
	error = timed(meter, program, WEIR_METER_NOTHING, FEW, &nothing);
	error = error ?: timed(meter, program, WEIR_METER_FIXED, FEW, &took);
	if (!error)
		*took_ns = beyond(took, nothing);
	return error;
}
