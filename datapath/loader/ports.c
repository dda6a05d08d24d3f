// SPDX-License-Identifier: Apache-2.0
/* Ports: the records that the programs read, and attaching, detaching and listing interfaces. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"

/*
 * Least bucket where the programs drop what does not conform. A TCP that lost its last packets is silent for its
 * retransmission timeout, 200 ms at least and a round trip; what is less is lost to it each time (docs/adr/0012).
 */
#define POLICE_BURST_NS 300000000ULL

static struct weir_port *port_by_index(struct weir *weir, uint32_t ifindex)
{
	for (uint32_t probe = 0; probe < WEIR_PORT_PROBES; probe++) {
		struct weir_port *port = &weir_port_table(weir)[(ifindex + probe) % WEIR_PORTS];

		if (port->ifindex == ifindex)
			return port;
	}
	return NULL;
}

static struct weir_port *port_by_name(struct weir *weir, const char *name)
{
	for (uint32_t i = 0; i < WEIR_PORTS; i++) {
		struct weir_port *port = &weir_port_table(weir)[i];

		if (port->ifindex && !strncmp(port->name, name, WEIR_IFNAMSIZ))
			return port;
	}
	return NULL;
}

static struct weir_port *port_free(struct weir *weir, uint32_t ifindex)
{
	for (uint32_t probe = 0; probe < WEIR_PORT_PROBES; probe++) {
		struct weir_port *port = &weir_port_table(weir)[(ifindex + probe) % WEIR_PORTS];

		if (!port->ifindex)
			return port;
	}
	return NULL;
}

/* Frames of a VLAN interface come through the XDP program of the port below. */
bool weir_is_program_of(enum weir_program program, uint32_t roles)
{
	return roles & weir_role_of(program) && !(program == WEIR_FAST && roles & WEIR_ROLE_TAGGED);
}

static int links_attach(struct weir *weir, struct weir_port *port, uint32_t roles)
{
	int error = 0;

	for (enum weir_program program = 0; program < WEIR_PROGRAMS && !error; program++) {
		if (weir_is_program_of(program, roles))
			error = weir_link_attach(weir, port, program);
		else
			weir_link_detach(weir, port, program);
	}
	return error;
}

/* Takes the port out of the index of tags. */
static void tag_remove(struct weir *weir, const struct weir_port *port)
{
	uint32_t own = weir_port_place(weir, port) + 1;

	for (uint32_t entry = 0; entry < WEIR_PORTS; entry++)
		if (weir_port_table(weir)[entry].tagged_place == own)
			weir_publish(&weir_port_table(weir)[entry].tagged_place, 0);
}

/* Puts a port that is a VLAN interface into the index of tags, where frames and packets find it. */
static int tag_store(struct weir *weir, struct weir_port *port, const struct weir_port_spec *spec)
{
	uint32_t own = weir_port_place(weir, port) + 1, first = WEIR_TAG_ENTRY(spec->lower, spec->tag);
	bool same = port->lower == spec->lower && port->tag == spec->tag;

	if (!(spec->roles & WEIR_ROLE_TAGGED) || !same)
		tag_remove(weir, port);
	port->lower = spec->lower;
	port->tag = spec->tag;
	port->tag_protocol = htons(spec->tag_protocol);
	if (!(spec->roles & WEIR_ROLE_TAGGED))
		return 0;
	for (uint32_t probe = 0; probe < WEIR_PORT_PROBES; probe++) {
		struct weir_port *entry = &weir_port_table(weir)[(first + probe) % WEIR_PORTS];

		if (!entry->tagged_place || entry->tagged_place == own) {
			weir_publish(&entry->tagged_place, (uint16_t)own);
			return 0;
		}
	}
	return weir_fail(ENOSPC, "%s: no free place for tag %u", spec->name, spec->tag);
}

static void port_remove(struct weir *weir, struct weir_port *port)
{
	struct weir_port empty = {};
	uint32_t place = weir_port_place(weir, port);

	tag_remove(weir, port);
	empty.tagged_place = port->tagged_place; /* another's */
	weir_device_set(weir, port, false);
	for (enum weir_program program = 0; program < WEIR_PROGRAMS; program++)
		weir_link_detach(weir, port, program);
	weir_publish(&port->ifindex, 0);
	*port = empty;
	bpf_map_delete_elem(weir->map_fd[WEIR_MAP_CHECKS], &place);
}

/* Whether frames have an Ethernet header; and the device's own address. */
static bool has_ethernet_header(const char *name, uint8_t *mac)
{
	struct ifreq request = {};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;

	memcpy(request.ifr_name, name, WEIR_IFNAMSIZ);
	error = fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request);
	if (fd >= 0)
		close(fd);
	memcpy(mac, request.ifr_hwaddr.sa_data, ETH_ALEN);
	return error || request.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
	       request.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK;
}

static int check_spec(struct weir *weir, const struct weir_port_spec *spec)
{
	const struct weir_meta *meta = weir_meta(weir);
	uint32_t slot = spec->target_slot > spec->above_slot ? spec->target_slot : spec->above_slot;

	if (spec->mode > WEIR_HTB)
		return weir_fail(EINVAL, "%s: there is no mode %u", spec->name, spec->mode);
	if (slot >= meta->slots)
		return weir_fail(EINVAL, "%s: class slot %u is above the capacity of %u", spec->name, slot,
				 meta->slots);
	if (spec->roles & WEIR_ROLE_FLOW && !meta->flow_lookup)
		return weir_fail(EOPNOTSUPP, "%s: %s", spec->name, weir_flow_reason(weir));
	if (spec->roles & WEIR_ROLE_CARRIED && !(spec->roles & WEIR_ROLE_TRUNK))
		return weir_fail(EINVAL, "%s: what is carried is a trunk as well", spec->name);
	if (spec->roles & WEIR_ROLE_YIELDS && spec->roles & WEIR_ROLE_SHAPE)
		return weir_fail(EINVAL, "%s: what yields to its members does not shape", spec->name);
	if (spec->roles & WEIR_ROLE_TAGGED && (!spec->lower || !spec->tag || spec->tag > 4094))
		return weir_fail(EINVAL, "%s: tag %u on interface index %u is not possible", spec->name,
				 spec->tag, spec->lower);
	if (spec->largest > UINT16_MAX)
		return weir_fail(EINVAL, "%s: packets of %u bytes do not exist", spec->name, spec->largest);
	if (spec->domain >= meta->domains)
		return weir_fail(EINVAL, "%s: domain %u is above the capacity of %u", spec->name,
				 spec->domain, meta->domains);
	return 0;
}

/* All that packets need; the index last when the record is new. */
static void port_store(struct weir *weir, struct weir_port *port, const struct weir_port_spec *spec,
		       uint32_t ifindex)
{
	bool l3 = !has_ethernet_header(spec->name, port->mac) || spec->roles & WEIR_ROLE_L3;
	uint32_t hosts = weir_subqueues_by_source(weir) ? WEIR_ROLE_HOSTS : 0;
	uint32_t burst = POLICE_BURST_NS << WEIR_TICK_SHIFT >> WEIR_TIME_SHIFT;

	memcpy(port->name, spec->name, WEIR_IFNAMSIZ);
	port->overhead_bytes = spec->overhead_bytes;
	port->domain = spec->domain;
	weir_publish(&port->target_slot, spec->target_slot);
	/* Below HTB the totals are policed. */
	weir_publish(&port->burst_min, spec->mode == WEIR_POLICE || spec->mode == WEIR_HTB ? burst : 0);
	weir_publish(&port->largest, (uint16_t)spec->largest);
	weir_publish(&port->above, spec->above);
	weir_publish(&port->above_slot, spec->above_slot);
	weir_publish(&port->more_roles,
		     (uint8_t)((spec->roles | weir_bounded_role(weir)) >> WEIR_MORE_ROLES_SHIFT));
	weir_publish(&port->mode, (uint8_t)spec->mode);
	weir_publish(&port->roles, (uint8_t)(spec->roles | (l3 ? WEIR_ROLE_L3 : 0) | hosts));
	weir_publish(&port->ifindex, ifindex);
}

/* The entry of the port's checks; one that is there stays. */
static void checks_make(struct weir *weir, uint32_t place)
{
	int cpus = libbpf_num_possible_cpus();
	struct weir_check_counters *zero = cpus > 0 ? calloc(cpus, sizeof(*zero)) : NULL;

	if (zero)
		bpf_map_update_elem(weir->map_fd[WEIR_MAP_CHECKS], &place, zero, BPF_NOEXIST);
	free(zero);
}

static void port_clear_counters(struct weir *weir, uint32_t place)
{
	int cpus = libbpf_num_possible_cpus();
	struct weir_port_counters *zero = cpus > 0 ? calloc(cpus, sizeof(*zero)) : NULL;

	if (zero)
		bpf_map_update_elem(weir->map_fd[WEIR_MAP_PORT_COUNTERS], &place, zero, BPF_ANY);
	free(zero);
}

static int attach(struct weir *weir, const struct weir_port_spec *spec)
{
	uint32_t ifindex = if_nametoindex(spec->name);
	struct weir_port *port, *named;
	int error = check_spec(weir, spec);
	bool is_new;

	if (error)
		return error;
	if (!ifindex)
		return weir_fail(ENODEV, "there is no interface %s", spec->name);
	named = port_by_name(weir, spec->name);
	if (named && named->ifindex != ifindex) /* removed and made again since */
		port_remove(weir, named);
	port = port_by_index(weir, ifindex);
	is_new = !port;
	port = port ?: port_free(weir, ifindex);
	if (!port)
		return weir_fail(ENOSPC, "%s: no free port record for interface index %u", spec->name,
				 ifindex);
	if (is_new)
		port_clear_counters(weir, weir_port_place(weir, port));
	checks_make(weir, weir_port_place(weir, port));
	port_store(weir, port, spec, ifindex);
	error = tag_store(weir, port, spec) ?: links_attach(weir, port, spec->roles);
	if (!error &&
	    (spec->roles & (WEIR_ROLE_TAGGED | WEIR_ROLE_FAST)) == (WEIR_ROLE_TAGGED | WEIR_ROLE_FAST))
		error = weir_device_set(weir, port, true);
	if (error && is_new)
		port_remove(weir, port);
	else if (error == -EOPNOTSUPP)
		weir_publish(&port->roles, (uint8_t)(port->roles & ~(WEIR_ROLE_FAST | WEIR_ROLE_FLOW)));
	return error;
}

/* A change starts from what was meant, also when somebody else has written the table meanwhile. */
static void begin(struct weir *weir)
{
	pthread_mutex_lock(&weir->hooks);
	weir_records_mend(weir);
}

static void end(struct weir *weir)
{
	weir_records_keep(weir);
	pthread_mutex_unlock(&weir->hooks);
}

int weir_attach(struct weir *weir, const struct weir_port_spec *spec)
{
	int error;

	begin(weir);
	error = attach(weir, spec);
	end(weir);
	return error;
}

int weir_detach(struct weir *weir, const char *ifname)
{
	struct weir_port *port;

	begin(weir);
	port = port_by_name(weir, ifname);
	if (port)
		port_remove(weir, port);
	end(weir);
	return port ? 0 : weir_fail(ENOENT, "interface %s is not attached", ifname);
}

static void read_counters(struct weir *weir, uint32_t place, struct weir_port_spec *out)
{
	int cpus = libbpf_num_possible_cpus();
	struct weir_port_counters *counters = cpus > 0 ? calloc(cpus, sizeof(*counters)) : NULL;

	if (counters && !bpf_map_lookup_elem(weir->map_fd[WEIR_MAP_PORT_COUNTERS], &place, counters)) {
		for (int cpu = 0; cpu < cpus; cpu++) {
			for (int reason = 0; reason < WEIR_REASONS; reason++) {
				out->packets[reason] += counters[cpu].packets[reason];
				out->bytes[reason] += counters[cpu].bytes[reason];
			}
			for (int reason = 0; reason < WEIR_UPS; reason++)
				out->up[reason] += counters[cpu].up[reason];
		}
	}
	free(counters);
}

static void read_checks(struct weir *weir, uint32_t place, struct weir_port_spec *out)
{
	int cpus = libbpf_num_possible_cpus();
	struct weir_check_counters *counters = cpus > 0 ? calloc(cpus, sizeof(*counters)) : NULL;

	if (counters && !bpf_map_lookup_elem(weir->map_fd[WEIR_MAP_CHECKS], &place, counters)) {
		for (int cpu = 0; cpu < cpus; cpu++) {
			for (int check = 0; check < WEIR_CHECKS; check++) {
				out->checked_packets[check] += counters[cpu].packets[check];
				out->checked_bytes[check] += counters[cpu].bytes[check];
			}
		}
	}
	free(counters);
}

static uint32_t read_ports(struct weir *weir, struct weir_port_spec *out, uint32_t capacity)
{
	uint32_t count = 0;

	for (uint32_t place = 0; place < WEIR_PORTS && count < capacity; place++) {
		const struct weir_port *port = &weir_port_table(weir)[place];
		struct weir_port_spec *spec = &out[count];

		if (!port->ifindex)
			continue;
		*spec = (struct weir_port_spec){
			.ifindex = port->ifindex,
			.mode = port->mode,
			.roles = port->roles | (uint32_t)port->more_roles << WEIR_MORE_ROLES_SHIFT,
			.target_slot = port->target_slot,
			.domain = port->domain,
			.overhead_bytes = port->overhead_bytes,
			.alive = 1,
			.hook = port->hook,
			.xdp = weir_is_program_of(WEIR_FAST, port->roles),
			.tag = port->tag,
			.tag_protocol = ntohs(port->tag_protocol),
			.lower = port->lower,
			.above = port->above,
			.above_slot = port->above_slot,
			.largest = port->largest,
		};
		memcpy(spec->name, port->name, sizeof(spec->name));
		memcpy(spec->mac, port->mac, sizeof(spec->mac));
		for (enum weir_program program = 0; program < WEIR_PROGRAMS; program++)
			if (weir_is_program_of(program, port->roles) &&
			    weir_link_state(weir, port, program) != WEIR_LINK_RIGHT)
				spec->alive = 0;
		spec->refused = weir_refused_at(weir, place);
		read_counters(weir, place, spec);
		read_checks(weir, place, spec);
		count++;
	}
	return count;
}

int weir_ports(struct weir *weir, struct weir_port_spec *out, uint32_t capacity)
{
	uint32_t count;

	pthread_mutex_lock(&weir->hooks);
	count = read_ports(weir, out, capacity);
	pthread_mutex_unlock(&weir->hooks);
	return (int)count;
}

static void remove_ports(struct weir *weir)
{
	begin(weir);
	for (uint32_t place = 0; place < WEIR_PORTS; place++)
		if (weir_port_table(weir)[place].ifindex)
			port_remove(weir, &weir_port_table(weir)[place]);
	end(weir);
}

int weir_destroy(struct weir *weir)
{
	remove_ports(weir);
	for (enum weir_program program = 0; program < WEIR_PROGRAMS; program++)
		weir_unpin(weir, weir_program_names[program]);
	weir_hops_unpin(weir);
	for (int map = WEIR_MAPS - 1; map >= 0; map--)
		weir_unpin(weir, weir_map_names[map]);
	if (weir->pin_dir && rmdir(weir->pin_dir) && errno != EBUSY && errno != ENOTEMPTY)
		return weir_fail(errno, "%s cannot be removed: %s", weir->pin_dir, strerror(errno));
	return 0;
}
