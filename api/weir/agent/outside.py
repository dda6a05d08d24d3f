# SPDX-License-Identifier: Apache-2.0
"""Who tells others outside what ails the router, what it logs, what it is called, and that it is this one;
who fetches lists from others, and who comes in by SSH."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import Any

from weir.adapters.frr import Frr
from weir.adapters.kept_lists import KeptLists
from weir.adapters.time_zone import TimeZone
from weir.adapters.web_server import WebServer
from weir.agent.alerts import Alerts
from weir.agent.fetching import Fetching
from weir.agent.log_targets import LogTargets
from weir.agent.options import daemon_folder, lasting, state_folder
from weir.agent.orders import Orders
from weir.agent.secrets import Secrets
from weir.agent.ssh_tickets import SshTickets
from weir.backends.certificates import CertificatesBackend
from weir.backends.daemons import Learn
from weir.backends.fetched import FetchedBackend
from weir.backends.held import HeldBackend
from weir.backends.naming import Named, NamingBackend
from weir.backends.ssh import SshBackend
from weir.model.objects import Kind
from weir.parts.alerts import ALERT_RULES, ALERT_TARGETS
from weir.parts.certificates import CERTIFICATES
from weir.parts.fetched import FETCHED
from weir.parts.jobs import JOBS
from weir.parts.logs import LOGS
from weir.parts.naming import NAMING, TIME_ZONE
from weir.parts.ssh import SSH
from weir.parts.wireguard import Sealed


class Outside:
    """All of them, with the backends that say what to whom; `answering` answer on the agent's socket."""

    def __init__(
        self,
        options: argparse.Namespace,
        secrets: Secrets,
        called: Named,
        frr: Frr,
        stack: ExitStack,
    ) -> None:
        def opened(sealed: Sealed) -> str:
            return secrets.key.open(sealed.place, sealed.text)

        targets, rules, logged = HeldBackend(ALERT_TARGETS), HeldBackend(ALERT_RULES), HeldBackend(LOGS)
        self.jobs = HeldBackend(JOBS)
        self.alerts = Alerts(targets, rules, opened, str(options.ca_bundle))
        self._logs = LogTargets(logged, str(options.ca_bundle), options.journal_reader)
        self.certificates = shown = CertificatesBackend(
            lasting(options) / "certificates", opened, _web_server(options)
        )
        folder = daemon_folder(state_folder(options)) / "ssh"
        ssh = SshBackend(folder, lasting(options), is_unit=options.sets_clock)
        lists = KeptLists(lasting(options) / "fetched-sets")
        self.fetching = Fetching(fetched := FetchedBackend(), lists, str(options.ca_bundle))
        self.answering = (self.alerts, self.fetching, SshTickets(ssh))
        passing, look_s = state_folder(options), options.scan_interval_s
        orders = Orders(shown, lasting(options) / "acme", passing, options.ca_bundle, look_s)
        orders.start()
        self.zone = TimeZone(lasting(options) / "localtime")
        naming = NamingBackend(NAMING, called, state_folder(options) / "own-name")
        hours = NamingBackend(TIME_ZONE, self.zone, lasting(options) / "own-time-zone")
        naming.changed = (frr.take_name, lambda _name: self._logs.rename())
        for stop in (orders.stop, self.fetching.stop, self.alerts.stop, self._logs.stop):
            stack.callback(stop)
        self.sources: dict[Kind, Learn] = {
            "set": self.fetching.learn,
            "alert-target": self.alerts.learn,
            "syslog-target": self._logs.learn,
            "identity": lambda _ids: {
                "identity": {"current_name": naming.now(), "current_zone": hours.now()}
            },
            "certificate": shown.learn,
            "management": shown.learn_management,
            "ssh-key": ssh.learn_keys,
        }
        self.backends: dict[str, Any] = {
            ALERT_TARGETS.name: targets,
            ALERT_RULES.name: rules,
            FETCHED.name: fetched,
            LOGS.name: logged,
            NAMING.name: naming,
            TIME_ZONE.name: hours,
            CERTIFICATES.name: shown,
            SSH.name: ssh,
            JOBS.name: self.jobs,
        }


def _web_server(options: argparse.Namespace) -> WebServer | None:
    """The one in front of the API on an image; a lab has none."""
    if options.tls_used is None:
        return None
    chosen = lasting(options) / "tls" / "weir.pem"
    return WebServer(chosen, options.tls_used, options.tls_refresh, options.tls_port)
