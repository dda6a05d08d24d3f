/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The maps' layout: shared by the BPF programs, the loader and (as offsets) the control plane.
 *
 * Everything here lives in BPF arrays that user space maps into its memory. Who writes what:
 *   struct weir_line, weir_detail
 *                        clock_tk, held and the counters: BPF, by atomics only (the loader zeroes a row while
 *                        its slot is in no table). All other fields: the loader, aligned stores;
 *                        `cost` also the share controller, which lends a class less or more than its rate.
 *   weir_up              BPF: what XDP sent up the stack lately (bpf/held.h).
 *   struct weir_used     BPF sets bytes; the loader takes them back to 0.
 *   struct weir_quantum  BPF, each CPU its own.
 *   struct weir_round_trips
 *                        BPF; a row changes hands by compare-and-swap on `line`.
 *   struct weir_backlog, weir_host, weir_flow_clock: BPF; made and replaced by compare-and-swap on one word.
 *   struct weir_host_name BPF; readers compare the hash.
 *   struct weir_subqueues: the loader; `cost` also the share controller; its last fields BPF.
 *   everything else      the loader; BPF only reads.
 *
 * A *line* is one direction of one class: line = slot * 2 + direction. Slot 0 means "no class".
 *
 * Time: departure clocks count ticks of 1/16 ns (CLOCK_MONOTONIC), because one 64-byte packet takes
 * 5.12 ns at 100 Gbit/s and rounding to whole nanoseconds would be a rate error of 2 %.
 * 2^64 ticks are 36 years.
 */
#ifndef WEIR_ABI_H
#define WEIR_ABI_H

#include <linux/types.h>

/* A change that an older program or loader cannot live with: new maps are needed. */
#define WEIR_ABI 5

#define WEIR_TICK_SHIFT 4 /* ticks = ns << 4 */
#define WEIR_TIME_SHIFT 8 /* times in weir_line are in 2^8 ticks = 16 ns: 68 s in 32 bits */
#define WEIR_COST_SHIFT 16 /* cost per byte: ticks with 16 fractional bits, i.e. ns with 20 */
#define WEIR_MIN_RATE_BPS 100 /* below it the cost of WEIR_MAX_BYTES does not fit 64 bits */
#define WEIR_MAX_BYTES 131072 /* charged for one packet at most */
#define WEIR_LEVELS 8

/*
 * skb->mark: bits 8 to 27 carry the upload class's slot from ingress to egress, bit 28 says that a port
 * which the packet left by before has charged it, and bit 29 that the upload class is full (bpf/full.h):
 * the firewall opens no connection for it. Bits 0 to 7, 30 and 31 are free for other uses and never touched.
 */
#define WEIR_MARK_SHIFT 8
#define WEIR_MARK_SLOT 0x0fffff00U
#define WEIR_MARK_CHARGED 0x10000000U
#define WEIR_MARK_FULL 0x20000000U
#define WEIR_MARK_MASK (WEIR_MARK_SLOT | WEIR_MARK_CHARGED | WEIR_MARK_FULL)
#define WEIR_MAX_SLOTS ((1U << 20) - 1)
#define WEIR_SLOT_UNREAD WEIR_MAX_SLOTS /* nobody's: came in unreadable, by a port without a queue */

enum weir_direction { WEIR_UPLOAD = 0, WEIR_DOWNLOAD = 1 };

/* All that a packet touches which neither waits nor drops: one cache line, and as many of them in a page as go. */
struct weir_line {
	__u64 clock_tk; /* when all that was charged so far will have left */
	__u64 cost; /* ticks per byte << WEIR_COST_SHIFT; 0 = unlimited */
	__u32 burst; /* how far the clock of an idle class lags behind now, 16 ns */
	__u32 limit; /* how far ahead of now the clock may be before packets drop, 16 ns */
	__u32 parent; /* line, 0 = none */
	__u32 shared; /* line charged by both directions (total limits), 0 = none */
	__u64 packets; /* sent on, counted as segments; the top byte stays 0 (bpf/line.h) */
	__u64 bytes; /* IP bytes sent on by the stack */
	__u64 fast_bytes; /* IP bytes forwarded in XDP */
	__u32 flags; /* WEIR_LINE_* */
	__u32 held; /* until when fq may hold packets of it, 2^WEIR_HELD_SHIFT ns; wraps (bpf/held.h) */
};

/* The rest of a line. */
struct weir_detail {
	__u64 key; /* whose line this is; 0 = free */
	__u64 rate_bps; /* what cost was computed from; 0 = unlimited */
	__u64 guarantee_bps; /* limit-at, read by the share controller */
	__u64 drop_packets; /* dropped for any reason */
	__u64 drop_bytes;
	__u64 mark_packets; /* ECN marks */
	__u64 delay_us; /* sum of the delays given to packets */
	__u32 htb_classid; /* skb->priority on ports in HTB mode */
	__u32 ancestor_drop_packets; /* of drop_packets: because of an ancestor or the total; wraps */
};

#define WEIR_LINE_PRIORITY 0xfU /* 1 (best) to 8; 0 = 8 */
#define WEIR_LINE_SUBQUEUES 0x10U /* has a row of weir_subqueues; tc only, the fast path passes it up */
#define WEIR_LINE_LIVE 0x40U /* the line is somebody's */
#define WEIR_LINE_AGE 0x3f00U /* counts up with each class that gets the line */
#define WEIR_LINE_AGE_SHIFT 8
#define WEIR_LINE_ROW_SHIFT 14 /* from here on the row of weir_subqueues */

#define WEIR_HELD_SHIFT 20

/* What one CPU has charged to an ancestor ahead of its packets. */
#define WEIR_QUANTA 1024 /* for each CPU; power of two */

struct weir_quantum {
	__u32 line; /* whose it is; 0 = nobody's */
	__u32 left_tk; /* not yet used */
	__u32 age; /* WEIR_LINE_AGE of the class that held the line then */
	__u32 reserved;
	__u64 start_tk; /* where the next packet starts */
	__u64 taken_tk; /* when it was last refilled */
};

/* A fork: `dst` decides among several queues (bpf/far.h). `parent` leads to whoever takes the rest. */
#define WEIR_LINE_FORK 0x20U
#define WEIR_LINE_STACK (WEIR_LINE_SUBQUEUES | WEIR_LINE_FORK) /* not for the fast path */

#define WEIR_FAR_INTERFACE 0U /* family of a far end that is an interface's name */
#define WEIR_FAR_FIXED_BITS 64 /* of a key: fork and family, before what is matched in part */

struct weir_far_key {
	__u32 bits; /* that count, from `fork` on */
	__u32 fork; /* slot */
	__u32 family; /* 4, 6 or WEIR_FAR_INTERFACE */
	union {
		__u8 end[16]; /* network byte order; the name of an interface, padded with zeros */
		__u32 word[4];
	};
};

struct weir_far {
	__u32 slot;
	__u32 rank; /* the smaller one of an address and an interface wins */
};

/*
 * How long packets wait, and what is done about it: one for each line and one in each sub-queue. Only packets
 * that wait touch it (wait.h). `delay_us` is the delay when the control law ran last; `worst_us` the longest
 * of the present span of 2^30 ns, `worst_before_us` of the span before `updated`'s.
 */
#define WEIR_UPDATED_SHIFT 20 /* `updated` counts 2^20 ns: 1.05 ms */
#define WEIR_SPAN_SHIFT 10 /* a span, about a second, is 2^10 of these */

struct weir_backlog {
	__u64 sparse_tk; /* clock of what passed the backlog, at half the rate */
	__u32 updated; /* when the control law ran last */
	__u32 chance; /* its output, 2^32 = 1: a packet drops when two random numbers are below */
	__u32 delay_us;
	__u32 worst_us;
	__u32 worst_before_us;
	__u32 early_packets; /* dropped early; wraps */
};

/*
 * Round trips of TCP, seen in passing (bpf/round_trip.h): of packets of one line, to where they went and back. A
 * bounded table by line; a row that was not used lately gives way to another line's.
 */
#define WEIR_ROUND_TRIP_ROWS 16384
#define WEIR_ROUND_TRIP_ROW(line) ((__u32)((line)*0x9e3779b1U) >> 18) /* 14 bits */
#define WEIR_ROUND_TRIPS 5
#define WEIR_ROUND_TRIP_SHIFT 15 /* samples are in 2^15 ns: up to 2.1 s */

struct weir_round_trips {
	__u32 line; /* whose row; 0 = nobody's */
	__u32 far; /* hash of the far end's address and port whose packets are looked at; 0 = none */
	__u32 value; /* the timestamp it waits for, or the last one that left */
	__u32 sent; /* when that left, 2^10 ns; 0 = nothing is waited for */
	__u32 updated; /* when the newest sample was taken, 2^20 ns */
	__u16 chosen; /* when `far` was chosen, 2^20 ns; wraps */
	__u16 samples[WEIR_ROUND_TRIPS]; /* the newest first; 0 = none */
};

/* A flow of a class or sub-queue with a backlog; two share a cache line. */
#define WEIR_FLOW_WAYS 2

struct weir_flow_clock {
	__u64 key; /* line and hash; 0 = free */
	__u64 clock_tk; /* what it sent, at a small part of its class's rate */
	__u64 departure_tk; /* of its last packet: the next does not overtake it */
	__u64 turned_away_tk; /* in the first of a set: the last departure of flows that found no place in it */
};

/*
 * PCQ: a class's sub-queues, one for each masked address. Parameters of one line, and what its sub-queues
 * have in common; `line.flags` says which row.
 */
enum weir_subqueue_key { WEIR_BY_SOURCE = 1, WEIR_BY_DESTINATION = 2 }; /* or both */

struct weir_subqueues {
	__u64 cost; /* of one sub-queue now, as weir_line.cost: of its rate, or its equal share */
	__u64 rate_bps; /* pcq-rate; 0 = equal shares of the line's rate */
	__u64 peak_cost; /* while a burst lasts; 0 = no burst */
	__u64 peak_bps;
	__u32 burst; /* credit of an idle sub-queue, 16 ns */
	__u32 limit_bytes; /* what one may hold */
	__u32 line; /* whose row this is; 0 = free */
	__u8 key; /* enum weir_subqueue_key */
	__u8 length4; /* bits of the address that count */
	__u8 length6;
	__u8 reserved;
	__u64 shared_tk; /* clock of the sub-queue of all that found no place */
	__u32 active; /* sub-queues that sent within the last second: the share controller */
	__u32 reserved2;
	__u64 evicted; /* idle sub-queues that gave way to another */
	__u64 shared_packets; /* packets that found no place */
};

/*
 * One sub-queue, in a set of WEIR_HOST_WAYS. It may give way to another once full_tk is past: then it has
 * its whole credit, as a new one has, and nothing is lost. So a sweep of addresses evicts idle ones only.
 */
#define WEIR_HOST_WAYS 8
#define WEIR_HOSTS_MAX 65536 /* an index fits skb->tc_index, which carries it from ingress to egress */

struct weir_host {
	__u64 key; /* line << 32 | hash of the masked address; 0 = free */
	__u64 full_tk; /* when it will have its whole credit: its clock plus the burst */
	__u64 peak_tk; /* clock of the burst's rate */
	struct weir_backlog backlog;
	__u32 bytes; /* sent; wraps */
	__u32 drops;
};

/*
 * Which address a sub-queue is of, found by the hash that is half of its key: a small table for those who ask, in which
 * every packet of a class with sub-queues sees to its own row, so that those who send most are in it.
 */
#define WEIR_HOST_NAMES 4096
#define WEIR_HOST_NAME_ROW(mixed) ((__u32)((mixed) >> 52)) /* 12 bits */

struct weir_host_name {
	__u64 mixed; /* weir_host_hash of the rest, which several CPUs may have written: readers check it */
	__u64 high; /* masked; v4: the address */
	__u64 low;
	__u32 family; /* 4 or 6 */
	__u32 reserved;
};

/*
 * IPv4: three levels of 16, 8 and 8 bits. An entry is a leaf or points to a node of 256 children.
 *   leaf   bit 31 clear; bits 25..30 prefix length + 1 (0 = nothing matches); bits 0..23 slot;
 *          bit 24: it counts, the address's last byte is added to the slot
 *   node   bit 31 set; bit 30: plain (256 entries in 16 units); bit 29: sparse; neither: packed;
 *          bit 28: packed, and counts addresses of 28 prefixes at least; bits 0..27 first unit
 * A packed node holds each run of equal entries once: a 256-bit map of where runs start, the number of
 * runs before each 64-bit word, then the runs' entries, continued in the next units. On the last level, addresses in
 * turn with slots in turn are one run as well, whose leaf counts.
 * A sparse node stands for both lower levels where they hold few runs: in which of the 65,536 addresses
 * each begins, and its leaf; unused runs begin at 65,535 and repeat the last leaf. One unit, one access.
 */
#define WEIR_V4_NODE 0x80000000U
#define WEIR_V4_PLAIN 0x40000000U
#define WEIR_V4_SPARSE 0x20000000U
#define WEIR_V4_CROWD 0x10000000U
#define WEIR_V4_UNIT 0x0fffffffU
#define WEIR_V4_COUNTS 0x01000000U
#define WEIR_V4_SLOT 0x00ffffffU
#define WEIR_V4_DEPTH_SHIFT 25
#define WEIR_V4_UNIT_WORDS 16
#define WEIR_V4_ROOT_UNITS 4096 /* the first level of domain d is in units d * 4096 and following */
#define WEIR_V4_RUNS_AT 9 /* word of a packed node where its runs begin */
#define WEIR_V4_SPARSE_RUNS 10
#define WEIR_V4_PACKED_MAX 55 /* runs; a node with more is plain */

struct weir_v4_unit {
	union {
		__u32 word[WEIR_V4_UNIT_WORDS];
		struct {
			__u64 starts[4];
			__u8 before[4];
		};
		struct {
			__u16 begins[WEIR_V4_SPARSE_RUNS];
			__u32 runs[WEIR_V4_SPARSE_RUNS];
		};
	};
};

/*
 * Prefixes, in a hash table with linear probing, one table per family. The v6 table is what packets
 * are looked up in, once per prefix length in use; the v4 table is the record the tree is built from.
 * `tag` is written last and says what the entry is; key and length never change while it is live.
 */
#define WEIR_TAG_FREE 0U
#define WEIR_TAG_DEAD 1U
#define WEIR_TAG_LIVE 0x01000000U /* | domain << 8 | length */
#define WEIR_PROBES 128 /* tables are at most half full: a cluster this long is a 1e-11 event */
#define WEIR_V6_LENGTHS 32

struct weir_prefix {
	__u64 high; /* v4: the address; v6: its first half; host byte order, host bits zero */
	__u64 low;
	__u32 slot;
	__u32 tag;
	__u64 reserved;
};

enum weir_mode { WEIR_NONE = 0, WEIR_EDT = 1, WEIR_POLICE = 2, WEIR_HTB = 3 };

enum weir_role {
	WEIR_ROLE_CLASSIFY = 1,
	WEIR_ROLE_SHAPE = 2,
	WEIR_ROLE_FAST = 4,
	WEIR_ROLE_L3 = 8, /* no Ethernet header */
	WEIR_ROLE_FLOW = 16, /* fast only for flows that the kernel's flow table holds */
	WEIR_ROLE_HOSTS = 32, /* some class has sub-queues by source: find them before NAT */
	WEIR_ROLE_TAGGED = 64, /* a VLAN interface: its frames travel on `lower`, with its tag */
	WEIR_ROLE_TRUNK = 128, /* packets that left by another port leave by it as well */
	WEIR_ROLE_CARRIED = 256, /* with TRUNK: its packets leave by another port after it */
	WEIR_ROLE_YIELDS = 512, /* its members shape, and what they classified stays theirs */
	WEIR_ROLE_LOOSE = 1024, /* forwards only sources that there is a way to (RFC 3704, 2.4), */
	WEIR_ROLE_STRICT = 2048, /* or only those whose way is by this port (2.2) */
	WEIR_ROLE_KNOWN = 4096, /* forwards only what is in a queue */
	WEIR_ROLE_FULL = 8192, /* connections are tracked: say whose class is full, */
	WEIR_ROLE_POLICED = 16384, /* where no port lets packets wait */
};

#define WEIR_ROLE_CHECKS (WEIR_ROLE_LOOSE | WEIR_ROLE_STRICT | WEIR_ROLE_KNOWN)

#define WEIR_MORE_ROLES_SHIFT 8

enum weir_hook { WEIR_HOOK_NONE = 0, WEIR_HOOK_TCX = 1, WEIR_HOOK_CLSACT = 2 };

#define WEIR_PORTS 1024 /* power of two; entry = (ifindex + probe) % WEIR_PORTS */
#define WEIR_PORT_PROBES 8
#define WEIR_IFNAMSIZ 16

struct weir_port {
	__u32 ifindex; /* 0 = free */
	__u8 mode;
	__u8 roles;
	__u16 domain;
	__s32 overhead_bytes; /* added to each packet's IP length */
	__u32 target_slot; /* class of an interface target, 0 = none */
	__u32 burst_min; /* least burst on this port (policing), 16 ns */
	__u8 hook; /* enum weir_hook: how the programs are attached */
	__u8 more_roles; /* from WEIR_ROLE_CARRIED on, >> WEIR_MORE_ROLES_SHIFT */
	__u8 mac[6]; /* frames to others are none of the fast path's business */
	char name[WEIR_IFNAMSIZ];
	__u32 lower; /* TAGGED: index of the interface below */
	__u16 tag; /* TAGGED: VLAN id */
	__be16 tag_protocol; /* TAGGED: ETH_P_8021Q or ETH_P_8021AD */
	__u16 tagged_place; /* none of this port's: entry of the index of tags, a port's place + 1, 0 = free */
	__u16 largest; /* larger packets that leave by it are routed by the stack; 0 = all, 65,535 = none */
	__u32 above; /* of a member: index of the outermost interface above it that yields, 0 = none */
	__u32 above_slot; /* its class, for what leaves by it and for which the member has none */
};

/* Where the search for a VLAN interface begins: `tagged_place` of this entry and the next ones. */
#define WEIR_TAG_ENTRY(lower, tag) (((lower)*257 + (tag)) % WEIR_PORTS)

/* Why a packet left a shaping port unshaped, or not at all; counted per port. */
enum weir_reason {
	WEIR_NO_CLASS = 0, /* IP, but in no queue */
	WEIR_NOT_IP, /* ARP, LLDP, PPP control, ... */
	WEIR_SHORT, /* truncated header */
	WEIR_BAD_HEADER, /* version or header length wrong */
	WEIR_DEEP_TAGS, /* more than eight VLAN tags; dropped unless the port or the sender has a queue */
	WEIR_STALE_CLASS, /* the slot found holds no class */
	WEIR_UNREADABLE, /* compressed PPP, or came in so that it could not be read; dropped as well */
	WEIR_REASONS = 8,
};

/* Why a packet that came to a fast port went up the stack; counted per port. */
enum weir_up_reason {
	WEIR_UP_UNUSUAL = 0, /* not plain unicast IP to this router */
	WEIR_UP_ROUTE, /* to the router itself, no route or neighbour yet, larger than the MTU */
	WEIR_UP_PORT, /* leaves through a port without fast path */
	WEIR_UP_FLOW, /* in no established flow */
	WEIR_UP_WAITS, /* its class is over its rate, or was just now */
	WEIR_UP_ORDER, /* behind a packet of its flow that went up */
	WEIR_UPS = 8,
};

/*
 * IPv4 sources that the stack may refuse: its own addresses and those of broadcasts. One bit for each hash; of packets
 * whose bit is set the kernel is asked (bpf/source.h).
 */
#define WEIR_SOURCE_BITS 65536
#define WEIR_SOURCE_BIT(address) ((__u32)((address)*0x9e3779b1U) >> 16) /* host byte order */

struct weir_sources {
	__u64 words[WEIR_SOURCE_BITS / 64];
};

/*
 * Neighbours that XDP sent packets to lately, by the end of their hardware address: who is in use has to be asked for
 * now and then.
 */
#define WEIR_USED_MARKS 16384 /* power of two */

struct weir_used {
	__u8 marks[WEIR_USED_MARKS];
};

#define WEIR_UP_STAMPS 32768 /* power of two */
#define WEIR_UP_GROUP 64 /* flows with a common stamp besides their own: stamp `flow / WEIR_UP_GROUP` */
#define WEIR_UP_GROUPS (WEIR_UP_STAMPS / WEIR_UP_GROUP) /* stamps of flows follow theirs */
#define WEIR_UP_SHIFT 16 /* stamps are in 2^16 ns */

struct weir_port_counters {
	__u64 packets[WEIR_REASONS];
	__u64 bytes[WEIR_REASONS];
	__u64 up[WEIR_UPS];
};

/* What the checks of a port refused, and what it forwarded that is in no queue; counted per port. */
enum weir_check {
	WEIR_IMPOSSIBLE_SOURCE = 0, /* dropped: an address that no host has */
	WEIR_WRONG_WAY, /* dropped: the way back to its source is another port */
	WEIR_REFUSED, /* dropped: in no queue, and the port forwards only what is */
	WEIR_UNKNOWN_RX, /* forwarded: came in by the port, and was in no queue */
	WEIR_UNKNOWN_TX, /* forwarded: left by the port, and was in no queue */
	WEIR_CHECKS,
};

struct weir_check_counters {
	__u64 packets[WEIR_CHECKS];
	__u64 bytes[WEIR_CHECKS];
};

struct weir_lengths {
	__u32 count;
	__u8 length[WEIR_V6_LENGTHS]; /* longest first */
};

/* What readers see of a line (bpf/weir_read.bpf.c). */
#define WEIR_READ_LINES 64 /* in one step: 4 KB of the reader's buffer of 32 KB */

struct weir_reading {
	__u64 bytes; /* of both paths */
	__u64 packets;
	__u64 drop_packets;
	__u64 mark_packets;
	__u64 fast_bytes;
	__u64 delay_us;
	__u32 ancestor_drop_packets;
	__u32 early_packets;
	__u32 worst_us; /* longest wait of the last one to two seconds */
	__u32 reserved;
};

struct weir_meta {
	__u32 abi;
	__u32 slots;
	__u32 prefixes; /* per family at most */
	__u32 prefix_entries; /* of each table; power of two, twice as many */
	__u32 v4_units;
	__u32 domains;
	__u32 lengths_active; /* which of lengths[] packets use */
	struct weir_lengths lengths[2];
	__u32 updating; /* the v4 tree may lag behind the v4 prefixes: rebuild on open */
	__u64 program; /* which build of the programs is attached */
	__u64 flow_lookup; /* 1: the fast path asks the kernel's flow table */
	__u64 totals; /* classes that are charged to a total */
	__u32 flows; /* entries of weir_flows, and of weir_hosts: a power of two */
	__u32 subqueues; /* rows of weir_subqueues, row 0 unused */
	__u64 reserved[4];
};

#endif
