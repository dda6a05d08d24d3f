# SPDX-License-Identifier: Apache-2.0
"""The kinds of objects that can be configured, each declared once in a module of its own.

A new kind is a module here and its line in `DECLARED`.
"""

from __future__ import annotations

from weir.kinds import (
    alert_rule,
    alert_target,
    bfd_profile,
    bgp,
    bgp_neighbor,
    bounded_source,
    certificate,
    dhcp_reservation,
    dhcp_server,
    dns,
    dns_block_list,
    dns_forward,
    dns_record,
    filter,
    firewall,
    identity,
    interface,
    management,
    nat,
    ntp,
    ospf,
    ospf_interface,
    prefix_list,
    prefix_list_entry,
    queue,
    queue_type,
    route_map,
    route_map_entry,
    service,
    sets,
    ssh_key,
    ssh_server,
    static_route,
    syslog_target,
    tuning,
    uplink,
    uplink_check,
    wireguard_peer,
    zone,
)
from weir.kinds.declaration import Declaration

DECLARED: dict[str, Declaration] = {
    declaration.kind: declaration
    for declaration in (
        queue.KIND,
        queue_type.KIND,
        interface.KIND,
        wireguard_peer.KIND,
        static_route.KIND,
        uplink.KIND,
        uplink_check.KIND,
        prefix_list.KIND,
        prefix_list_entry.KIND,
        route_map.KIND,
        route_map_entry.KIND,
        bfd_profile.KIND,
        bgp.KIND,
        bgp_neighbor.KIND,
        ospf.KIND,
        ospf_interface.KIND,
        firewall.KIND,
        zone.ZONE,
        zone.POLICY,
        filter.KIND,
        nat.KIND,
        bounded_source.KIND,
        service.KIND,
        sets.SET,
        sets.ENTRY,
        dhcp_server.KIND,
        dhcp_reservation.KIND,
        dns.KIND,
        dns_record.KIND,
        dns_forward.KIND,
        dns_block_list.KIND,
        ntp.KIND,
        alert_target.KIND,
        alert_rule.KIND,
        syslog_target.KIND,
        identity.KIND,
        certificate.KIND,
        management.KIND,
        ssh_server.KIND,
        ssh_key.KIND,
        tuning.KIND,
    )
}
"""By kind, in the order in which they are shown. What follows from a declaration is looked up here when it is
needed, so a test adds a kind of its own for as long as it runs."""
