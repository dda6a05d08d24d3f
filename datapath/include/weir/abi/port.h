/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The ports, and what is counted for each of them. Part of weir/abi.h. */
#ifndef WEIR_ABI_PORT_H
#define WEIR_ABI_PORT_H

#include <linux/types.h>

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
	WEIR_ROLE_BOUNDED = 32768, /* some source is bounded (bpf/bounded.h); of all ports alike */
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

#endif
