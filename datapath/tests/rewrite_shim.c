// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rewrite.h compiled for this machine: what NAT does to a packet, without a kernel that has the flow table. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>

#include "weir/abi.h"

#include "../bpf/rewrite.h"

/* An IPv4 packet in place; addresses and ports in network order. 0: its headers are not all there. */
int shim_translate(void *packet, uint32_t bytes, uint32_t source, uint32_t destination, uint16_t source_port,
		   uint16_t destination_port)
{
	struct iphdr *ip = packet;
	struct weir_route route = {
		.translated = true,
		.new_source = source,
		.new_destination = destination,
		.new_ports = { source_port, destination_port },
		.fib = { .l4_protocol = ip->protocol },
	};

	if (!weir_translate(ip, (char *)packet + bytes, &route))
		return 0;
	weir_decrement_ttl(ip);
	return 1;
}
