# SPDX-License-Identifier: Apache-2.0
"""Every part there is; what comes before what the parts themselves say."""

from __future__ import annotations

from weir.parts.alerts import ALERT_RULES, ALERT_TARGETS
from weir.parts.announcing import ANNOUNCING
from weir.parts.arp import ARP
from weir.parts.autoconf import AUTOCONF
from weir.parts.bonds import BONDS
from weir.parts.bounded_sources import BOUNDED_SOURCES
from weir.parts.bridges import BRIDGES
from weir.parts.certificates import CERTIFICATES
from weir.parts.dhcp import DHCP, DHCP_RELAYED
from weir.parts.dhcp6 import DHCP6
from weir.parts.dhcp_relay import DHCP_RELAY
from weir.parts.dhcp_snooping import DHCP_SNOOPING
from weir.parts.dns import DNS
from weir.parts.fetched import FETCHED
from weir.parts.firewall import FIREWALL
from weir.parts.forwarding import FORWARDING
from weir.parts.jobs import JOBS
from weir.parts.logs import LOGS
from weir.parts.naming import NAMING, TIME_ZONE
from weir.parts.network import NETWORK
from weir.parts.ntp import NTP
from weir.parts.part import Parts
from weir.parts.pppoe import PPPOE
from weir.parts.routes import ROUTES
from weir.parts.routing import ROUTING
from weir.parts.sets import SETS
from weir.parts.ssh import SSH
from weir.parts.tuning import TUNING
from weir.parts.uplinks import UPLINKS
from weir.parts.wireguard import WIREGUARD

PARTS = Parts(
    (
        *(NAMING, TIME_ZONE, FETCHED),
        *(
            SETS,
            FIREWALL,
            DHCP_SNOOPING,
            NETWORK,
            BONDS,
            BRIDGES,
            WIREGUARD,
            PPPOE,
            TUNING,
            FORWARDING,
            UPLINKS,
            ROUTES,
        ),
        *(
            ROUTING,
            AUTOCONF,
            ARP,
            DHCP,
            DHCP_RELAYED,
            DHCP_RELAY,
            DHCP6,
            DNS,
            ANNOUNCING,
            NTP,
            ALERT_TARGETS,
            ALERT_RULES,
        ),
        *(LOGS, BOUNDED_SOURCES, CERTIFICATES, SSH, JOBS),
    )
)
