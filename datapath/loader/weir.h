/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libweir: load, pin and attach the datapath; read and write its tables.
 *
 * Every function returns 0 (or a count) or a negative errno; weir_error() then has a sentence for
 * people, per thread. A handle is used by one thread at a time (and weir_guard by
 * another); one process writes, any may read.
 */
#ifndef WEIR_H
#define WEIR_H

#include <stdint.h>

struct weir;

/* 0 takes the default. Ignored when pinned maps of the same ABI are reused. */
struct weir_options {
	uint32_t slots; /* classes; 131072 */
	uint32_t prefixes; /* per family; = slots */
	uint32_t v4_units; /* 64 bytes each; 2 * prefixes */
	uint32_t domains; /* 1 */
	uint32_t no_tcx; /* 1: attach by clsact even where there is tcx */
	uint32_t no_flow; /* 1: the fast path without flow table even where the kernel has one */
	uint32_t no_hops; /* 1: the fast path asks the kernel for the way of every packet */
	uint32_t reserved;
};

struct weir_line_spec {
	uint64_t rate_bps; /* 0 = unlimited */
	uint64_t burst_ns;
	uint64_t limit_ns;
	uint64_t guarantee_bps;
	uint32_t htb_classid;
	uint32_t priority; /* 1 to 8; 0 = 8 */
};

struct weir_class_spec {
	uint32_t slot;
	uint32_t parent_slot;
	uint32_t total_slot;
	uint32_t fork; /* 1: far ends decide; parent_slot is who takes the rest */
	uint64_t key;
	struct weir_line_spec line[2];
};

/* PCQ: one sub-queue for each masked address of what one direction of a class carries. */
struct weir_subqueues_spec {
	uint32_t slot;
	uint32_t direction;
	uint64_t rate_bps; /* of each; 0 = equal shares of the class's rate */
	uint64_t peak_bps; /* while a burst lasts; 0 = no burst */
	uint64_t burst_ns; /* credit of an idle one, time at its rate */
	uint32_t limit_bytes; /* what one may hold */
	uint8_t key; /* enum weir_subqueue_key, or both; 0 = no sub-queues */
	uint8_t length4, length6; /* bits of the address that count */
	uint8_t reserved;
};

struct weir_subqueues_state {
	uint64_t rate_bps; /* of one sub-queue now; 0 = unlimited */
	uint64_t evicted; /* idle sub-queues that gave way to another */
	uint64_t shared_packets; /* packets that found no place and shared one sub-queue */
	uint32_t active; /* within the last second, as the share controller saw it */
	uint32_t reserved;
};

/* Round trips of TCP packets of one line: the newest first. */
struct weir_round_trip_state {
	uint32_t count;
	uint32_t age_ms; /* of the newest */
	uint64_t samples_ns[5];
};

/* What TCP packets of one line lost on either side of the router, of the last windows in which it was looked at. */
struct weir_loss_state {
	uint32_t age_ms; /* of the last window */
	uint32_t seen_bytes; /* of data, each once; 0: nothing was seen, and all else is 0 */
	uint32_t before_bytes;
	uint32_t after_bytes;
	uint32_t before_packets; /* that brought them again */
	uint32_t after_packets;
};

/* Of the classes below one that have seen round trips lately, which may be seconds apart. */
struct weir_round_trips_below {
	uint32_t classes; /* so many; 0: all else is 0 as well */
	uint32_t age_ms; /* of the newest sample */
	uint64_t least_ns; /* the shortest sample of all */
	uint64_t median_ns; /* of the classes' medians */
};

struct weir_prefix_spec {
	uint64_t high; /* v4: the address */
	uint64_t low;
	uint32_t slot;
	uint16_t domain;
	uint8_t family; /* 4 or 6 */
	uint8_t length;
};

struct weir_far_spec {
	uint32_t fork; /* slot */
	uint32_t family; /* 4, 6, or 0 = an interface */
	uint8_t end[16]; /* network byte order */
	uint32_t length;
	uint32_t slot;
	uint32_t rank;
};

/* A source of which only so many packets are taken, by whatever port. */
struct weir_bounded_spec {
	uint8_t address[16]; /* network byte order; IPv4 as ::ffff:a.b.c.d */
	uint32_t bits; /* that count: of IPv4 96 more than its own */
	uint32_t reserved;
	uint64_t cost_ns; /* between two packets */
	uint64_t burst_ns; /* this time's worth of packets may come at once after a pause */
	uint64_t passed; /* read only, packets */
	uint64_t dropped; /* read only */
};

struct weir_port_spec {
	char name[16];
	uint32_t ifindex;
	uint32_t mode;
	uint32_t roles;
	uint32_t target_slot;
	uint32_t domain;
	int32_t overhead_bytes;
	uint32_t alive; /* read only */
	uint32_t hook; /* read only: 1 tcx, 2 clsact */
	uint32_t xdp; /* read only: 0 none, 1 native; there is no other */
	uint8_t mac[6]; /* read only: as the fast path knows it */
	uint16_t tag; /* WEIR_ROLE_TAGGED: VLAN id and protocol, */
	uint32_t tag_protocol;
	uint32_t lower; /* and the index of the interface below */
	uint32_t above; /* of a member: index of the outermost interface above that yields, 0 = none, */
	uint32_t above_slot; /* and the class of what leaves by it and is in none of the member's */
	uint32_t largest; /* larger packets that leave by it are routed by the stack; 0 = all, 65535 = none */
	uint64_t packets[8]; /* read only, by enum weir_reason */
	uint64_t bytes[8];
	uint64_t up[8]; /* read only, packets by enum weir_up_reason */
	uint64_t
		refused; /* read only, packets that XDP gave its device and it did not take, since weir_refused_watch */
	uint64_t checked_packets[5]; /* read only, by enum weir_check */
	uint64_t checked_bytes[5];
};

struct weir_guard {
	uint32_t mended; /* so many things were not as they should be */
	char words[500]; /* which, in sentences; those that there is room for */
};

struct weir_usage {
	uint32_t slots, slots_used;
	uint32_t prefixes, prefixes4_used, prefixes6_used;
	uint32_t v4_units, v4_units_used;
	uint32_t v6_lengths, v6_lengths_used;
	uint32_t flow_lookup; /* 1: ports may have WEIR_ROLE_FLOW */
	uint32_t subqueues, subqueues_used; /* classes and directions with sub-queues */
	uint32_t hosts, hosts_used; /* sub-queues that are not idle */
	uint64_t kernel_bytes;
};

/* Which packets torch looks at: of one interface, or of the classes in `slots` on all of these. */
struct weir_torch_spec {
	const uint32_t *ifindexes;
	uint32_t ifindex_count;
	uint32_t slot_words; /* 0: of the first interface */
	const uint64_t *slots; /* a bit for each slot */
	int ports_fd, devices_fd, v4_fd, prefix6_fd, meta_fd; /* of the maps; the caller's */
};

/* Which packets of the fast path a capture copies: of this interface, that pass the filter. */
struct weir_capture_spec {
	uint32_t ifindex;
	int ports_fd, devices_fd; /* of the maps; the caller's */
	uint32_t packet_bytes; /* of each, at most WEIR_CAPTURE_MOST - WEIR_CAPTURE_TAG */
	uint16_t port; /* of TCP or UDP at either end; 0 = all */
	uint8_t family; /* 4 or 6: from or to `network`; 0 = all */
	uint8_t protocols[2]; /* 0 = all */
	uint8_t network[16], mask[16]; /* as in the packet; of IPv4 the first four bytes */
};

/* Packets of a capture, since the beginning. */
struct weir_capture_sums {
	uint64_t seen; /* that pass the filter */
	uint64_t dropped; /* of these, for want of room */
	uint64_t lost; /* of the interface, whether they pass or not: the kernel did not show them */
};

struct weir_torch_sums {
	uint64_t bytes, packets; /* of the stack, since the beginning */
	uint64_t fast_bytes, fast_packets; /* of the fast path, while that was watched */
	uint64_t estimated; /* of these, packets that another stood for */
	uint64_t passed; /* by the fast path to all ports, while that was watched */
	uint64_t watched_ns; /* from the first of them since the last read of flows to the last one */
};

const char *weir_error(void);

/* pin_dir NULL: nothing is pinned, all goes with the handle. *reused: 1 when pinned state was taken over,
 * 2 when its programs were replaced by this build's. */
int weir_open(const char *pin_dir, const struct weir_options *options, struct weir **out, int *reused);
void weir_close(struct weir *weir);
int weir_destroy(struct weir *weir); /* detach and unpin everything; the handle still needs weir_close */

int weir_attach(struct weir *weir, const struct weir_port_spec *spec);
int weir_detach(struct weir *weir, const char *ifname);
int weir_ports(struct weir *weir, struct weir_port_spec *out, uint32_t capacity);

/*
 * What decides whether packets meet their classes, compared with what this process made, and made so again:
 * programs at their hooks, port records, pins. To be called several times a second, beside other calls of
 * another thread. 0 or the first fault that could not be mended; `out` has what was.
 */
int weir_guard(struct weir *weir, struct weir_guard *out);
/* From now on the fast path forwards nothing, on any port, until weir_attach gives it back. Beside other calls. */
void weir_fast_hold(struct weir *weir);
/* These are the bounded sources, and no others; what one has counted goes on. */
int weir_bounded_write(struct weir *weir, const struct weir_bounded_spec *specs, uint32_t count);
int weir_bounded_read(struct weir *weir, struct weir_bounded_spec *out, uint32_t capacity);
/*
 * The IPv4 addresses, in host byte order, from which the stack takes no packets: its own and those of broadcasts. NULL:
 * they are not known, and each packet's source is looked up, as it is until the first call.
 */
int weir_sources_write(struct weir *weir, const uint32_t *addresses, uint32_t count);
/*
 * The fast path keeps answers of the kernel's FIB while routes are of the generation that weir_routes_look saw, if those who read
 * them since found them plain: what the answer is depends on the destination and on where a packet comes in, and on nothing else.
 * `regions`: WEIR_REGIONS numbers (weir/abi/hop.h), all 0 where nothing is known of them; NULL: routes are not plain.
 * weir_hops_reason: why nothing is kept on this kernel; "" = it is.
 */
int weir_routes_look(struct weir *weir);
int weir_routes_plain(struct weir *weir, const uint16_t *regions);
const char *weir_hops_reason(struct weir *weir);
/* Which neighbours XDP sent to since the last call: a byte for each end (14 of the last 16 bits) of a
 * hardware address. Returns how many are set. */
int weir_used_take(struct weir *weir, uint8_t *out, uint32_t size);

/* Count packets that XDP redirects to a port and its device does not take. -ENOENT and others: the kernel cannot tell. */
int weir_refused_watch(struct weir *weir);

int weir_classes_write(struct weir *weir, const struct weir_class_spec *specs, uint32_t count);
int weir_classes_read(struct weir *weir, struct weir_class_spec *out, uint32_t capacity);
int weir_class_clear(struct weir *weir, uint32_t slot);

/* Of classes that are there; a class keeps them until its slot is cleared or gets another key. All are checked
 * first; -ENOSPC when the table is full: those before it in `specs` are written then. */
int weir_subqueues_write(struct weir *weir, const struct weir_subqueues_spec *specs, uint32_t count);
/* A capacity of 0 asks how many there are. */
int weir_subqueues_read(struct weir *weir, struct weir_subqueues_spec *out, uint32_t capacity);
/* -ENOENT: that direction of the class has none. */
int weir_subqueues_state(struct weir *weir, uint32_t slot, uint32_t direction,
			 struct weir_subqueues_state *out);

/* Nothing seen yet is a count of 0. -EINVAL: there is no such slot. */
int weir_round_trips(struct weir *weir, uint32_t slot, uint32_t direction, struct weir_round_trip_state *out);
/* All is 0 where nothing was seen. -EINVAL: there is no such slot. */
int weir_losses(struct weir *weir, uint32_t slot, uint32_t direction, struct weir_loss_state *out);
/* Without the class's own, and without classes whose newest sample is older than `age_max_ms`. -EINVAL, -ENOMEM. */
int weir_round_trips_below(struct weir *weir, uint32_t slot, uint32_t direction, uint32_t age_max_ms,
			   struct weir_round_trips_below *out);

/* All or nothing: on an error no lookup has changed. Removing what is not there is -ENOENT. */
int weir_prefixes_change(struct weir *weir, const struct weir_prefix_spec *remove, uint32_t removes,
			 const struct weir_prefix_spec *add, uint32_t adds);
int weir_prefixes_read(struct weir *weir, struct weir_prefix_spec *out, uint32_t capacity);
/* The slot that packets to this address get, read from the tables as the programs read them. */
int weir_lookup(struct weir *weir, const struct weir_prefix_spec *address);

/* Remove far ends, then set others. They take effect by a class with `fork` and prefixes that lead to it; a
 * family of 0 is an interface, `end` its name. Removing what is not there is no error. */
int weir_far_change(struct weir *weir, const struct weir_far_spec *remove, uint32_t removes,
		    const struct weir_far_spec *add, uint32_t adds);
int weir_far_read(struct weir *weir, struct weir_far_spec *out, uint32_t capacity);

int weir_usage(struct weir *weir, struct weir_usage *out);
/*
 * Called now and then: lookup tables that were not used since the call before are unmapped until they are
 * used next. They stay in the kernel; mapped, they count as memory of this process (34 MB for 131,072 classes).
 */
int weir_rest(struct weir *weir);
/*
 * A descriptor for a process that reads all counters: an iterator made of it (BPF_ITER_CREATE, which needs no
 * privilege) gives a struct weir_reading for each line. The caller closes it. Negative errno where there is none.
 */
int weir_reader_fd(struct weir *weir);

/* Why ports cannot have WEIR_ROLE_FLOW; empty when they can. Valid until weir_close. */
const char *weir_flow_reason(struct weir *weir);
int weir_map_fd(struct weir *weir, const char *name, int readonly); /* caller closes it */
int weir_program_fd(struct weir *weir, const char *name); /* caller closes it */

/*
 * Count the flows of a port or of classes as long as the handle is open (weir/torch.h). It needs no struct weir, and
 * reading needs no privilege. -EOPNOTSUPP: this kernel has no tcx.
 */
struct weir_torch_run;
struct weir_torch_flow;
int weir_torch_open(const struct weir_torch_spec *spec, struct weir_torch_run **out);
void weir_torch_close(struct weir_torch_run *run);
/* Why packets that the fast path forwards are not counted; empty when they are. */
const char *weir_torch_unseen(struct weir_torch_run *run);
/* Whether what XDP redirects is counted, which takes a part of every redirect's time. It is from the beginning. */
int weir_torch_watch_fast(struct weir_torch_run *run, int on);
/* Returns how many flows there are, at most `capacity`; 0: only the sums are read. To be called once a second: from one call to the next
 * each processor counts WEIR_TORCH_LOOKS packets one by one. */
int weir_torch_read(struct weir_torch_run *run, struct weir_torch_sums *sums, struct weir_torch_flow *out,
		    uint32_t capacity);

/*
 * Copy packets that the fast path forwards as long as the handle is open (weir/capture.h). It needs no struct weir, and reading
 * needs no privilege. -EOPNOTSUPP: this kernel does not show them.
 */
struct weir_capture_run;
int weir_capture_open(const struct weir_capture_spec *spec, struct weir_capture_run **out);
void weir_capture_close(struct weir_capture_run *run);
/* No packet comes from now on; those that have come can be read. */
void weir_capture_stop(struct weir_capture_run *run);
/* Fills `out` with whole packets, each a struct weir_capture_packet with its bytes, padded to 8; returns how many bytes there are. */
int weir_capture_read(struct weir_capture_run *run, void *out, uint32_t capacity);
int weir_capture_sums(struct weir_capture_run *run, struct weir_capture_sums *sums);

/*
 * Count how long softirqs wait and run, by vector and processor (weir/softirq.h). It needs no struct weir; nothing is attached until it
 * is watched, and reading needs no privilege. `untyped`: as on a kernel without types of its own. Returns the number of processors.
 */
struct weir_softirq_run;
struct weir_softirq_row;
int weir_softirq_open(int untyped, struct weir_softirq_run **out);
void weir_softirq_close(struct weir_softirq_run *run);
/* On: forget what was counted and begin. Off: what was counted can be read. */
int weir_softirq_watch(struct weir_softirq_run *run, int on);
/* `out` has WEIR_SOFTIRQS rows for each processor. Returns how many. */
int weir_softirq_read(struct weir_softirq_run *run, struct weir_softirq_row *out);

/*
 * What a lookup costs in the tables of this process's network namespace (weir/meter.h), in ns. Nothing is attached, sent or seen. It
 * needs no struct weir. One thread.
 */
struct weir_meter;
struct weir_meter_end;
struct weir_meter_routes_spec {
	uint32_t ifindex; /* where the packets would come in */
	uint32_t source, destination; /* IPv4, as packets have them */
};
int weir_meter_open(struct weir_meter **out);
void weir_meter_close(struct weir_meter *meter);
/* Of an IPv4 route, of one destination and of random ones. -ENETDOWN: forwarding is off. */
int weir_meter_routes(struct weir_meter *meter, const struct weir_meter_routes_spec *spec, uint32_t *fixed_ns,
		      uint32_t *random_ns);
/* Of the TCP socket that listens for a SYN. */
int weir_meter_listener(struct weir_meter *meter, const struct weir_meter_end *from,
			const struct weir_meter_end *to, uint32_t *took_ns);

/* A source for which routes were looked up. */
struct weir_scan_state {
	uint8_t address[16]; /* network byte order; IPv4 as ::ffff:a.b.c.d, of IPv6 the first 64 bits */
	uint64_t lookups;
	uint32_t destinations; /* an estimate, up to about 7,000 */
	uint32_t reserved;
};

/*
 * Count for whom routes are looked up in the caller's network namespace, while it is watched. It needs no struct weir.
 * Reading: the sources with so many destinations at least.
 */
struct weir_scan_run;
int weir_scan_open(struct weir_scan_run **out);
void weir_scan_close(struct weir_scan_run *run);
int weir_scan_watch(struct weir_scan_run *run, int on);
int weir_scan_read(struct weir_scan_run *run, uint32_t least, struct weir_scan_state *out, uint32_t capacity);

/*
 * Count how long processors spin for locks, by kind and processor (weir/lock.h), while it is watched. It needs no struct weir, and
 * reading needs no privilege. Opening keeps up to four processors busy until it sees that this kernel tells, some ms; -EOPNOTSUPP: it
 * does not. Returns the number of processors.
 */
struct weir_locks_run;
struct weir_lock_row;
int weir_locks_open(struct weir_locks_run **out);
void weir_locks_close(struct weir_locks_run *run);
int weir_locks_watch(struct weir_locks_run *run, int on); /* on: forget what was counted and begin */
/* `out` has WEIR_LOCK_KINDS rows for each processor. Returns how many. */
int weir_locks_read(struct weir_locks_run *run, struct weir_lock_row *out);

/* Packets that were dropped for one reason, as this kernel numbers them, at one interface (0: of none, or the table was full). */
struct weir_dropped_state {
	uint32_t reason, ifindex;
	uint64_t packets;
};

/*
 * Count why the kernel drops packets of the caller's network namespace, while it is watched. It needs no struct weir, and reading
 * needs no privilege. -EOPNOTSUPP: this kernel does not tell.
 */
struct weir_dropped_run;
int weir_dropped_open(struct weir_dropped_run **out);
void weir_dropped_close(struct weir_dropped_run *run);
int weir_dropped_watch(struct weir_dropped_run *run, int on); /* on: forget what was counted and begin */
int weir_dropped_read(struct weir_dropped_run *run, struct weir_dropped_state *out, uint32_t capacity);
/* As this kernel names it, without SKB_DROP_REASON_; empty where it has no name. Valid until it is closed. */
const char *weir_dropped_name(struct weir_dropped_run *run, uint32_t reason);

/*
 * Give a frame to a port, and catch it behind our programs before it leaves by another one (weir/prove.h). One frame at a
 * time; what is attached ends with the handle.
 */
struct weir_proof;
struct weir_prove_asked;
struct weir_prove_seen;
int weir_proof_open(struct weir *weir, struct weir_proof **out);
void weir_proof_close(struct weir_proof *proof);
int weir_proof_attach(struct weir_proof *proof, uint32_t ifindex); /* -EOPNOTSUPP: this kernel has no tcx */
void weir_proof_detach(struct weir_proof *proof);
void weir_proof_ask(struct weir_proof *proof, const struct weir_prove_asked *asked);
/* `frame` with an Ethernet header, also where the interface has none. `ifindex` 0: only note the counters. */
int weir_proof_send(struct weir_proof *proof, const void *frame, uint32_t size, uint32_t ifindex);
void weir_proof_seen(struct weir_proof *proof, struct weir_prove_seen *before, struct weir_prove_seen *after);

#endif
