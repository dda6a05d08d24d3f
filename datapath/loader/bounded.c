// SPDX-License-Identifier: Apache-2.0
/* Sources of which only so many packets are taken (bpf/bounded.h). */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "internal.h"

static struct weir_bounded_key key_of(const struct weir_bounded_spec *spec)
{
	struct weir_bounded_key key = { .bits = spec->bits };

	memcpy(key.word, spec->address, sizeof(key.word));
	return key;
}

static int check_spec(const struct weir_bounded_spec *spec)
{
	if (spec->bits > 128)
		return weir_fail(EINVAL, "a source of %u bits is not possible", spec->bits);
	if (!spec->cost_ns || spec->burst_ns < spec->cost_ns)
		return weir_fail(EINVAL, "a packet each %llu ns, and %llu ns of them at once, are no bound",
				 (unsigned long long)spec->cost_ns, (unsigned long long)spec->burst_ns);
	return 0;
}

static bool is_wanted(const struct weir_bounded_key *key, const struct weir_bounded_spec *specs,
		      uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct weir_bounded_key wanted = key_of(&specs[i]);

		if (!memcmp(&wanted, key, sizeof(wanted)))
			return true;
	}
	return false;
}

/* What it counted goes on. */
static int write_one(int fd, const struct weir_bounded_spec *spec)
{
	struct weir_bounded_key key = key_of(spec);
	struct weir_bounded held = {}, wanted;

	bpf_map_lookup_elem(fd, &key, &held);
	wanted = held;
	wanted.cost_ns = spec->cost_ns;
	wanted.burst_ns = spec->burst_ns;
	if (!memcmp(&wanted, &held, sizeof(held)))
		return 0;
	return bpf_map_update_elem(fd, &key, &wanted, BPF_ANY) ?
		       weir_fail(errno, "a bounded source cannot be stored: %s", strerror(errno)) :
		       0;
}

static void remove_others(int fd, const struct weir_bounded_spec *specs, uint32_t count)
{
	struct weir_bounded_key key, gone[WEIR_BOUNDED_MAX], *before = NULL;
	uint32_t removes = 0;

	while (removes < WEIR_BOUNDED_MAX && !bpf_map_get_next_key(fd, before, &key)) {
		before = &key;
		if (!is_wanted(&key, specs, count))
			gone[removes++] = key;
	}
	while (removes)
		bpf_map_delete_elem(fd, &gone[--removes]);
}

uint32_t weir_bounded_role(struct weir *weir)
{
	struct weir_bounded_key first;

	return bpf_map_get_next_key(weir->map_fd[WEIR_MAP_BOUNDED], NULL, &first) ? 0 : WEIR_ROLE_BOUNDED;
}

/* The records are kept as they are meant, as in subqueues.c. */
static void tell_ports(struct weir *weir)
{
	const uint8_t bit = WEIR_ROLE_BOUNDED >> WEIR_MORE_ROLES_SHIFT;

	pthread_mutex_lock(&weir->hooks);
	weir_records_mend(weir);
	for (uint32_t i = 0; i < WEIR_PORTS; i++) {
		struct weir_port *port = &weir_port_table(weir)[i];
		uint8_t others = port->more_roles & ~bit;

		if (port->ifindex)
			weir_publish(&port->more_roles, weir_bounded_role(weir) ? others | bit : others);
	}
	weir_records_keep(weir);
	pthread_mutex_unlock(&weir->hooks);
}

int weir_bounded_write(struct weir *weir, const struct weir_bounded_spec *specs, uint32_t count)
{
	int fd = weir->map_fd[WEIR_MAP_BOUNDED], error = 0;

	if (count > WEIR_BOUNDED_MAX)
		return weir_fail(ENOSPC, "%u sources cannot be bounded, %u at most", count, WEIR_BOUNDED_MAX);
	for (uint32_t i = 0; i < count && !error; i++)
		error = check_spec(&specs[i]);
	if (error)
		return error;
	remove_others(fd, specs, count);
	for (uint32_t i = 0; i < count && !error; i++)
		error = write_one(fd, &specs[i]);
	tell_ports(weir);
	return error;
}

int weir_bounded_read(struct weir *weir, struct weir_bounded_spec *out, uint32_t capacity)
{
	int fd = weir->map_fd[WEIR_MAP_BOUNDED];
	struct weir_bounded_key key, *before = NULL;
	struct weir_bounded held;
	uint32_t count = 0;

	while (count < capacity && !bpf_map_get_next_key(fd, before, &key)) {
		before = &key;
		if (bpf_map_lookup_elem(fd, &key, &held))
			continue;
		out[count] = (struct weir_bounded_spec){
			.bits = key.bits,
			.cost_ns = held.cost_ns,
			.burst_ns = held.burst_ns,
			.passed = held.passed,
			.dropped = held.dropped,
		};
		memcpy(out[count++].address, key.word, sizeof(key.word));
	}
	return count;
}
