# SPDX-License-Identifier: Apache-2.0
"""The service as one thing: opens the databases, connects to the agent, hands out the parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from weir.accounts.accounts import Accounts
from weir.accounts.second_factor import SecondFactorService
from weir.accounts.security_keys import SecurityKeyService
from weir.accounts.users import TokenService, UserService
from weir.service.alerts import AlertService
from weir.service.appliance import ApplianceService
from weir.service.backup import BackupService
from weir.service.candidates import CandidateService
from weir.service.commit import Committer
from weir.service.configuration import ConfigService
from weir.service.daily import DailyCheck
from weir.service.decisions import DecisionService
from weir.service.diagnosis import DiagnosisService
from weir.service.hosts import HostService
from weir.service.job_trail import JobTrail
from weir.service.known import write_running
from weir.service.leases import LeaseService
from weir.service.log import LogService
from weir.service.own_names import own_names
from weir.service.packet_path import PathService
from weir.service.raising import RaiseService
from weir.service.revisions import RevisionService
from weir.service.running_document import Running
from weir.service.sealing import SealingService
from weir.service.sets import SetService
from weir.service.setup import SetupService
from weir.service.speed import SpeedTests
from weir.service.ssh import SshService
from weir.service.states import StateService
from weir.service.stored import StoredService
from weir.service.support_file import SupportFiles
from weir.service.timer_trail import note_timer
from weir.service.tools import ToolService
from weir.service.tuning import TuningService
from weir.service.tunnel_clients import TunnelClients
from weir.service.updates import UpdateService
from weir.service.watch import Watch
from weir.service.why import WhyService
from weir.store import ConfigStore, Revision
from weir.wire.client import AgentClient

MOST_FAILED = MOST_TOLD = 20


class Service:
    """What the API process is made of. Thread-safe; opened after forking, not before."""

    def __init__(self, store: ConfigStore, accounts: Accounts, agent: AgentClient, database: Path) -> None:
        self._store = store
        self.accounts = accounts
        self.agent = agent
        self.audit = accounts.audit
        self.auth = accounts.auth
        self._watch = Watch(self.look)
        self.daily = DailyCheck(database)
        running = Running(store, partial(note_timer, store, self.audit))
        self._running = running
        self.failed_commits = deque[str](maxlen=MOST_FAILED)
        """What the system refused, in sentences, for the recorder of incidents."""
        committer = Committer(store, running, agent, self.audit, self.failed_commits.append)
        self.config = ConfigService(store, running, agent, committer, self.audit)
        self.states = StateService(agent)
        self.sealing = SealingService(agent)
        self.clients = TunnelClients(self.config, self.states, self.sealing)
        self.backup = BackupService(self.config, self.audit, agent)
        self.candidates = CandidateService(store, running, agent, committer, self.audit)
        self._job_trail = JobTrail(agent, self.audit)
        self.raises = RaiseService(store, committer, self.audit)
        self.revisions = RevisionService(store, committer)
        self.ssh = SshService(accounts.store, agent)
        self.second_factor = SecondFactorService(accounts.store)
        self.keys = SecurityKeyService(accounts.store, accounts.challenges, self._own_names)
        self.users = UserService(accounts.store, self.candidates.forget)
        self.tokens = TokenService(accounts.store)
        self.tuning = TuningService(agent)
        self.diagnosis = DiagnosisService(agent, committer)
        self.why = WhyService(agent, self.config)
        self.log = LogService(agent)
        self.hosts = HostService(agent)
        self.speed = SpeedTests(agent, self.config, self.audit)
        self.tools = ToolService(agent, self.audit, self.speed)
        self.alerts = AlertService(agent, self.audit)
        self.sets = SetService(agent, self.audit)
        self.decisions = DecisionService(self.config, agent)
        self.path = PathService(agent, self.config, self.candidates, self.decisions, self.audit)
        self.leases = LeaseService(agent)
        self.updates = UpdateService(agent, self.audit, database.parent / "uploads")
        self.appliance = ApplianceService(agent, self.audit)
        self.stored = StoredService(
            (store, accounts.store), self.daily, running, committer, agent, self.audit
        )
        self.support = SupportFiles(self.audit)
        self.setup = SetupService(self.auth, self.config, agent)

    @classmethod
    def open(cls, database: Path, agent_socket: Path, accounts: Accounts | None = None) -> Service:
        """Open or create `database` and the accounts beside it, unless they are given; the agent may come
        later.

        A file that cannot be used is left as it is: its service reads what can be read and refuses changes
        (docs/adr/0110).
        """
        agent = AgentClient(agent_socket)
        with ExitStack() as opened:
            store = ConfigStore.steady(database, partial(write_running, agent))
            opened.callback(store.close)
            accounts = accounts or Accounts.open(database)
            opened.callback(accounts.close)
            service = cls(store, accounts, agent, database)
            opened.pop_all()
        service._watch.start()
        service.daily.start()
        service.raises.start()
        service._job_trail.start()
        return service

    def revisions_after(self, number: int) -> Sequence[Revision]:
        """The newest ones after a revision, the oldest first; at most `MOST_TOLD`."""
        found = self._store.revisions(None, MOST_TOLD)
        return [item for item in reversed(found) if item.number > number]

    def _own_names(self) -> frozenset[str]:
        with self._running.document() as document:
            return own_names(document)

    def look(self) -> None:
        """Find out whether the files can be used, and take into use what was found."""
        self._store.look_again()
        self.accounts.store.look_again()
        self._running.prepare()

    def close(self) -> None:
        self._watch.stop()
        self.daily.stop()
        self.raises.stop()
        self._job_trail.stop()
        self.setup.stop()
        self.agent.close()
        self.accounts.close()
        self._store.close()
