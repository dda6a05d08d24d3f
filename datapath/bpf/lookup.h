/* SPDX-License-Identifier: GPL-2.0-only */
/* The class of an address, of either family. */
#ifndef WEIR_BPF_LOOKUP_H
#define WEIR_BPF_LOOKUP_H

#include "lookup4.h"
#include "lookup6.h"
#include "parse.h"

/* Returns a slot; 0 = no class. */
static __always_inline __u32 weir_lookup(const struct weir_port *port, const struct weir_packet *packet)
{
	if (packet->family == 4)
		return weir_lookup4(port->domain, packet->high);
	return weir_lookup6(port->domain, packet->high, packet->low);
}

#endif
