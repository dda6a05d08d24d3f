// SPDX-License-Identifier: Apache-2.0
/*
 * The guard: what decides whether a packet meets its class at all, compared with what this process made and
 * made so again. It is called several times a second, beside whatever else the handle is used for.
 *
 * Looked at are the programs at each port's hooks (there, ours, before all others), the port's record and its
 * entry in the device map, the pins, weir_meta, the rows of sub-queues (subqueues.c), the sources to ask for
 * (routing.c), and in turn the classes' lines (classes.c) and what lookups read (watched.c, far.c). Nothing here
 * asks by name: two to four system calls a port, one a pin, two a far end.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "internal.h"

static const char *const deviations[] = {
	[WEIR_LINK_BEHIND] = "another program ran before the %s program",
	[WEIR_LINK_OTHER_PROGRAM] = "another program was in the place of the %s program",
	[WEIR_LINK_DETACHED] = "the %s program was detached",
};

static const char *const ways[WEIR_PROGRAMS] = { "ingress", "egress", "fast" };

void weir_guard_tell(struct weir_guard *out, const char *format, ...)
{
	size_t used = strnlen(out->words, sizeof(out->words) - 1);
	va_list arguments;

	out->mended++;
	if (used && used < sizeof(out->words) - 3)
		used += (size_t)snprintf(out->words + used, sizeof(out->words) - used, "; ");
	va_start(arguments, format);
	vsnprintf(out->words + used, sizeof(out->words) - used, format, arguments);
	va_end(arguments);
}

void weir_records_keep(struct weir *weir)
{
	memcpy(weir->meant, weir_port_table(weir), WEIR_PORTS * sizeof(*weir->meant));
}

/* The index last, as packets find the record by it. */
static void record_store(struct weir_port *port, const struct weir_port *meant)
{
	memcpy((char *)port + sizeof(port->ifindex), (const char *)meant + sizeof(port->ifindex),
	       sizeof(*port) - sizeof(port->ifindex));
	weir_publish(&port->ifindex, meant->ifindex);
}

void weir_records_mend(struct weir *weir)
{
	struct weir_port *table = weir_port_table(weir);

	for (uint32_t place = 0; place < WEIR_PORTS; place++) {
		if (!memcmp(&table[place], &weir->meant[place], sizeof(*table)))
			continue;
		record_store(&table[place], &weir->meant[place]);
		weir->records_mended++;
	}
}

static int link_mend(struct weir *weir, struct weir_port *port, enum weir_program program,
		     struct weir_guard *out)
{
	enum weir_link_state state = weir_link_state(weir, port, program);
	char what[96];
	int error;

	if (state == WEIR_LINK_NO_DEVICE)
		return 0; /* netlink tells of that */
	if (state == WEIR_LINK_RIGHT) {
		if (weir_link_is_pinned(weir, port, program))
			return 0;
		error = weir_link_pin(weir, port, program);
		if (!error)
			weir_guard_tell(out, "%s: the pin of the %s program was removed", port->name,
					ways[program]);
		return error;
	}
	error = weir_link_attach(weir, port, program);
	weir->meant[weir_port_place(weir, port)].hook = port->hook;
	if (error)
		return error;
	snprintf(what, sizeof(what), deviations[state], ways[program]);
	weir_guard_tell(out, "%s: %s", port->name, what);
	return 0;
}

static int device_mend(struct weir *weir, const struct weir_port *port, struct weir_guard *out)
{
	uint32_t place = weir_port_place(weir, port), held = 0;

	if (!weir->devices[place])
		return 0;
	bpf_map_lookup_elem(weir->map_fd[WEIR_MAP_DEVICES], &place, &held);
	if (held == weir->devices[place])
		return 0;
	if (weir_device_set(weir, port, true))
		return 0; /* the interface is gone */
	weir_guard_tell(out, "%s: its entry for the fast path was removed", port->name);
	return 0;
}

static int ports_mend(struct weir *weir, struct weir_guard *out)
{
	int error = 0;

	for (uint32_t place = 0; place < WEIR_PORTS; place++) {
		struct weir_port *port = &weir_port_table(weir)[place];
		int wrong = 0;

		if (!port->ifindex)
			continue;
		for (enum weir_program program = 0; program < WEIR_PROGRAMS; program++)
			if (weir_is_program_of(program, port->roles))
				wrong = link_mend(weir, port, program, out) ?: wrong;
		wrong = device_mend(weir, port, out) ?: wrong;
		error = error ?: wrong;
	}
	return error;
}

/* By words, as packets read some of them: sizes, lengths in use, whether there are totals. */
static void meta_mend(struct weir *weir, struct weir_guard *out)
{
	uint64_t *held = (uint64_t *)weir_meta(weir);
	const uint64_t *meant = (const uint64_t *)&weir->meant_meta;
	uint32_t wrong = 0;

	for (size_t i = 0; i < sizeof(struct weir_meta) / sizeof(*held); i++) {
		if (held[i] == meant[i])
			continue;
		weir_publish(&held[i], meant[i]);
		wrong++;
	}
	if (wrong)
		weir_guard_tell(out, "%u words of the table of sizes and lengths were changed", wrong);
}

static void sums_mend(struct weir *weir, struct weir_guard *out, int *error)
{
	static const char *const names[WEIR_WATCHED] = {
		[WEIR_WATCHED4] = "IPv4 prefixes",
		[WEIR_WATCHED6] = "IPv6 prefixes",
		[WEIR_WATCHED_TREE] = "IPv4 lookups",
	};
	bool is_wrong[WEIR_WATCHED], any = false;

	weir_watched_look(weir);
	for (int i = 0; i < WEIR_WATCHED; i++)
		any |= is_wrong[i] = weir->watched[i].is_wrong;
	if (!any)
		return;
	*error = weir_prefixes_mend(weir);
	for (int i = 0; i < WEIR_WATCHED; i++)
		if (is_wrong[i] && !weir->watched[i].is_wrong)
			weir_guard_tell(out, "the table of %s was changed", names[i]);
}

/* While another thread changes them, it is not waited for: the next look comes soon. */
static int lookups_mend(struct weir *weir, struct weir_guard *out)
{
	uint32_t sources;
	int error = 0;

	if (pthread_mutex_trylock(&weir->lookups))
		return 0;
	if (!pthread_mutex_trylock(&weir->classes)) { /* who changes the count of totals */
		meta_mend(weir, out);
		pthread_mutex_unlock(&weir->classes);
	}
	sums_mend(weir, out, &error);
	sources = weir_sources_mend(weir);
	if (sources)
		weir_guard_tell(out, "%u words of the table of the router's own addresses were changed",
				sources);
	if (weir_far_is_wrong(weir))
		weir_guard_tell(out, "the table of far ends was changed");
	pthread_mutex_unlock(&weir->lookups);
	return error;
}

int weir_guard(struct weir *weir, struct weir_guard *out)
{
	uint32_t pins = 0, records;
	int error = 0, wrong;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&weir->hooks);
	weir_records_mend(weir);
	records = weir->records_mended;
	weir->records_mended = 0;
	if (records)
		weir_guard_tell(out, "%u records of the port table were changed", records);
	wrong = ports_mend(weir, out);
	if (weir->pin_dir)
		error = weir_pins_mend(weir, &pins)		    ?:
				weir_program_pins_mend(weir, &pins) ?:
								      weir_hop_pins_mend(weir, &pins);
	if (pins)
		weir_guard_tell(out, "%u pins of maps and programs were removed", pins);
	pthread_mutex_unlock(&weir->hooks);
	weir_classes_guard(weir, out);
	wrong = wrong ?: lookups_mend(weir, out);
	return error ?: wrong;
}

/* The program stays at its hook and passes everything up. */
void weir_fast_hold(struct weir *weir)
{
	pthread_mutex_lock(&weir->hooks);
	weir_records_mend(weir);
	for (uint32_t place = 0; place < WEIR_PORTS; place++) {
		struct weir_port *port = &weir_port_table(weir)[place];

		if (port->roles & WEIR_ROLE_FAST)
			weir_publish(&port->roles,
				     (uint8_t)(port->roles & ~(WEIR_ROLE_FAST | WEIR_ROLE_FLOW)));
	}
	weir_records_keep(weir);
	pthread_mutex_unlock(&weir->hooks);
}
