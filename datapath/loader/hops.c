// SPDX-License-Identifier: Apache-2.0
/*
 * Answers of the kernel's FIB that the fast path keeps (bpf/hops.h): programs that count what changes neighbours, with links that
 * are pinned like those of the fast path, and from when on routes are such that answers may be kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"
#include "weir_hops.skel.h"

#define PLACES 6

static struct weir_hop_state *state_of(struct weir *weir)
{
	return weir->map[WEIR_MAP_HOP_STATE];
}

/* As many for each processor that may ever be there: a map of another size would be of another machine. */
uint32_t weir_hop_count(void)
{
	int cpus = libbpf_num_possible_cpus();

	return WEIR_HOP_ROWS * (cpus < 1 ? 1 : cpus > WEIR_HOP_CPUS ? WEIR_HOP_CPUS : cpus);
}

static struct bpf_link **link_of(struct weir_hops *hops, int place)
{
	struct bpf_link **links[PLACES] = {
		&hops->links.weir_updated_first, &hops->links.weir_updated_again,
		&hops->links.weir_timed_first,	 &hops->links.weir_timed_again,
		&hops->links.weir_removed_first, &hops->links.weir_removed_again,
	};

	return links[place];
}

static int pin_path(const struct weir *weir, int place, char *path, size_t size)
{
	char name[32];

	snprintf(name, sizeof(name), "neighbours-%d", place);
	return weir_pin_path(weir, name, path, size);
}

/* In place of an older process's: until then both count. */
static int pin(struct weir *weir, int place)
{
	char path[512];
	int error = pin_path(weir, place, path, sizeof(path));

	if (error)
		return error;
	unlink(path);
	return bpf_obj_pin(bpf_link__fd(*link_of(weir->hops, place)), path) ? -errno : 0;
}

/* Whatever was kept while nobody counted is not of these generations. */
static void forget(struct weir *weir)
{
	struct weir_hop_state *state = state_of(weir);

	__atomic_fetch_add(&state->neighbours, 1, __ATOMIC_SEQ_CST);
	for (uint32_t group = 0; group < WEIR_HOP_GROUPS; group++)
		__atomic_fetch_add(&state->groups[group], 1, __ATOMIC_SEQ_CST);
}

static int watch(struct weir *weir)
{
	int error = weir_object_use(weir->hops->obj, weir_map_names[WEIR_MAP_HOP_STATE],
				    weir->map_fd[WEIR_MAP_HOP_STATE]);

	error = error ?: weir_hops__load(weir->hops) ?: weir_hops__attach(weir->hops);
	for (int place = 0; place < PLACES && !error && weir->pin_dir; place++)
		error = pin(weir, place);
	return error;
}

void weir_hops_open(struct weir *weir)
{
	libbpf_print_fn_t before = libbpf_set_print(weir_silent);
	int error;

	if (weir->no_hops)
		error = -EOPNOTSUPP;
	else if ((weir->hops = weir_hops__open()))
		error = watch(weir);
	else
		error = -errno;
	libbpf_set_print(before);
	if (error) {
		snprintf(weir->hops_reason, sizeof(weir->hops_reason),
			 "the kernel does not tell what changes neighbours: %s", strerror(-error));
		weir_hops__destroy(weir->hops);
		weir->hops = NULL;
	}
	forget(weir);
	weir_publish(&state_of(weir)->is_watched, !error);
}

void weir_hops_close(struct weir *weir)
{
	weir_hops__destroy(weir->hops); /* pinned links stay */
}

int weir_hops_fd(struct weir *weir)
{
	return fcntl(bpf_program__fd(weir->hops->progs.weir_updated_first), F_DUPFD_CLOEXEC, 0);
}

void weir_hops_unpin(const struct weir *weir)
{
	char path[512];

	for (int place = 0; weir->pin_dir && place < PLACES; place++)
		if (!pin_path(weir, place, path, sizeof(path)))
			unlink(path);
}

int weir_hop_pins_mend(struct weir *weir, uint32_t *mended)
{
	char path[512];
	int error = 0;

	for (int place = 0; weir->hops && place < PLACES && !error; place++) {
		error = pin_path(weir, place, path, sizeof(path));
		if (error || !access(path, F_OK))
			continue;
		error = pin(weir, place);
		*mended += !error;
	}
	return error;
}

int weir_routes_look(struct weir *weir)
{
	uint8_t frame[64] = {};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = sizeof(frame));
	int error;

	if (!weir->hops)
		return 0;
	error = bpf_prog_test_run_opts(bpf_program__fd(weir->hops->progs.weir_hops_look), &options);
	return error ? weir_fail(-error, "the generation of routes cannot be read: %s", strerror(-error)) : 0;
}

/* Nothing is kept, and nothing that was is found any more, not even by a packet that is on its way. */
static void stop(struct weir *weir)
{
	weir_publish(&state_of(weir)->net, 0);
	weir_synchronize();
	forget(weir);
}

/*
 * The kernel counts no change of a route that no packet has used. So the same generation may turn out to be otherwise than was
 * said, and what was kept meanwhile goes.
 */
int weir_routes_plain(struct weir *weir, const uint16_t *regions)
{
	struct weir_hop_state *state = state_of(weir);
	uint16_t *held = weir->map[WEIR_MAP_REGIONS];
	bool differs = regions && memcmp(held, regions, WEIR_REGIONS * sizeof(*regions));
	bool again = state->net && state->net == state->seen_net && state->routes == state->seen_routes;

	if (!weir->hops || (again && regions && !differs))
		return 0;
	if (again || differs)
		stop(weir);
	weir_publish(&state->net, 0);
	if (!regions)
		return 0;
	for (uint32_t region = 0; differs && region < WEIR_REGIONS; region++)
		weir_publish(&held[region], regions[region]);
	weir_publish(&state->routes, state->seen_routes);
	weir_publish(&state->net, state->seen_net);
	return 0;
}

const char *weir_hops_reason(struct weir *weir)
{
	return weir->hops_reason;
}
