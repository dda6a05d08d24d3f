# SPDX-License-Identifier: Apache-2.0
"""What starts on the image: the presets as systemctl applies them while Buildroot packs the root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from weir.adapters import kea, unbound
from weir.adapters.dhcp_relay import UNIT_USER
from weir.adapters.pppd import UNIT, Sessions
from weir.adapters.unprivileged import without_root
from weir.agent.options import CA_BUNDLE, lasting, parser
from weir.backends import dhcp, dhcp_relay
from weir.backends.announcing import AnnouncingBackend
from weir.backends.dhcp6 import Dhcp6Backend
from weir.backends.dns import DnsBackend
from weir.backends.kea import CONF as KEA_CONF
from weir.backends.kea import KeaBackend
from weir.backends.ntp import NtpBackend
from weir.backends.ssh import UNIT as SSH_UNIT
from weir.backends.ssh import SshBackend
from weir.backends.ssh_config import CONF
from weir.kinds.ssh_server import SSH_USER

ROOT = Path(__file__).resolve().parents[2]
OVERLAY = ROOT / "board/overlay"
# Their own units' names and targets, as Buildroot's packages install them.
FOREIGN = {
    "chrony.service": "multi-user.target",
    "frr.service": "multi-user.target",
    "nginx.service": "multi-user.target",
    "rauc.service": "multi-user.target",
    "sshd.service": "multi-user.target",
    "dnsmasq.service": "multi-user.target",
    "fstrim.timer": "timers.target",
}
CAP_NET_RAW = 13
needs_systemctl = pytest.mark.skipif(shutil.which("systemctl") is None, reason="systemctl is missing")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root file system with the overlay, our packages' units and those of others."""
    target = tmp_path / "root"
    shutil.copytree(OVERLAY, target, symlinks=True)
    units = target / "usr/lib/systemd/system"
    for unit in (ROOT / "package").rglob("*.service"):
        shutil.copy(unit, units)
    for name, wanted_by in FOREIGN.items():
        (units / name).write_text(f"[Service]\nExecStart=/bin/true\n[Install]\nWantedBy={wanted_by}\n")
    (units / "getty@.service").write_text(
        "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=getty.target\nDefaultInstance=tty1\n"
    )
    return target


@needs_systemctl
def test_what_starts_is_what_the_preset_names(root: Path) -> None:
    subprocess.run(["systemctl", f"--root={root}", "preset-all"], check=True, capture_output=True)
    wants = (root / "etc/systemd/system").glob("*.wants/*")
    started = {link.name for link in wants if link.parent.name != "sysinit.target.wants"}
    assert started == {
        *("weir-data.service", "weir-agent.service", "weir-api.service", "weir-health.service"),
        *("weir-watchdog.service", "weir-early.service"),
        *("weir-tls.service", "weir-tls.timer", "weir-console@tty1.service", "weir-console@ttyS0.service"),
        *("frr.service", "nginx.service", "rauc.service", "fstrim.timer"),
    }


def test_every_unit_of_ours_is_named_by_the_preset_or_started_by_another() -> None:
    preset = (OVERLAY / "usr/lib/systemd/system-preset/10-weir.preset").read_text(encoding="utf-8")
    units = [*(OVERLAY / "usr/lib/systemd/system").iterdir(), *(ROOT / "package").rglob("*.service")]
    for unit in units:
        if "[Install]" in unit.read_text(encoding="utf-8"):
            assert re.search(rf"^enable {re.escape(unit.name)}( |$)", preset, re.MULTILINE), unit.name


def test_what_a_unit_may_write_is_there_before_it() -> None:
    """systemd starts no unit whose ReadWritePaths is not there, and at first /var/lib is empty."""
    made = re.findall(r"^d (\S+)", (ROOT / "package/weir-api/weir-api.tmpfiles").read_text(), re.MULTILINE)
    units = [*(OVERLAY / "usr/lib/systemd/system").glob("*.service"), *(ROOT / "package").rglob("*.service")]
    seen = 0
    for unit in units:
        text = unit.read_text(encoding="utf-8")
        own = [f"/var/lib/{name}" for name in re.findall(r"^StateDirectory=(\S+)", text, re.MULTILINE)]
        for path in " ".join(re.findall(r"^ReadWritePaths=(.+)", text, re.MULTILINE)).split():
            seen += 1
            assert path.startswith(("-", "/sys/")) or path in own + made, f"{unit.name}: {path}"
    assert seen


def test_what_the_router_lives_by_is_started_again_however_often_it_ends() -> None:
    """By default systemd gives up after five starts in ten seconds, and never starts what requires a unit
    that failed once. A console may be given up: its line may not be there."""
    ours, etc = ROOT / "package/weir-api", OVERLAY / "etc/systemd/system"
    for unit in (
        *(ours / "weir-agent.service", ours / "weir-api.service"),
        *(etc / "nginx.service", etc / "frr.service.d/restart.conf"),
    ):
        text = unit.read_text(encoding="utf-8")
        assert "Restart=always\n" in text and "StartLimitIntervalSec=0\n" in text, unit.name
        assert "\nRequires=" not in text, unit.name
    certificate = (OVERLAY / "usr/lib/systemd/system/weir-tls.service").read_text(encoding="utf-8")
    assert "Restart=on-failure\n" in certificate and "StartLimitIntervalSec=0\n" in certificate


def _announcer(state_dir: Path) -> AnnouncingBackend:
    return AnnouncingBackend(state_dir / "announcing", Path("/nowhere"), is_unit=True)


def _relay(state_dir: Path) -> dhcp_relay.DhcpRelayBackend:
    return dhcp_relay.DhcpRelayBackend(state_dir / "dhcp-relay", is_unit=True)


def _kea(backend: type[KeaBackend[Any]], folder: Path) -> KeaBackend[Any]:
    return backend(folder, Path("/nowhere"), is_unit=True)


def test_units_of_daemons_read_what_the_agent_writes_for_them() -> None:
    """The agent starts them by name, and asks Buildroot's package and ours for program and user."""
    state_dir = Path("/run/weir/daemons")
    relayed = _kea(dhcp.RelayedDhcpBackend, state_dir / "dhcp-relayed")
    for name, file, daemon in (
        ("chrony.service", "chrony.conf", NtpBackend(state_dir / "ntp", sets_clock=True).daemon),
        ("radvd.service", "radvd.conf", _announcer(state_dir).daemon),
        (dhcp.DhcpBackend.unit, KEA_CONF, _kea(dhcp.DhcpBackend, state_dir / "dhcp").daemon),
        (
            dhcp.RelayedDhcpBackend.unit,
            KEA_CONF,
            relayed.daemon,
        ),
        (Dhcp6Backend.unit, KEA_CONF, _kea(Dhcp6Backend, state_dir / "dhcp6").daemon),
        (dhcp_relay.UNIT, dhcp_relay.CONF, _relay(state_dir).daemon),
        ("unbound.service", "unbound.conf", DnsBackend(state_dir / "dns", CA_BUNDLE, is_unit=True).daemon),
        (SSH_UNIT, CONF, SshBackend(state_dir / "ssh", Path("/nowhere"), is_unit=True).daemon),
    ):
        units = [*OVERLAY.rglob(name), *OVERLAY.rglob(f"{name}.d/*.conf")]
        text = "\n".join(unit.read_text(encoding="utf-8") for unit in units)
        assert f"ConditionPathExists={daemon.config / file}\n" in text
        assert re.search(rf"^ExecStart=/usr/s?bin/[\w-]+ .*{daemon.config / file}$", text, re.MULTILINE), name
        assert f"StandardOutput=append:{daemon.config.parent}/said\n" in text
    unit = (OVERLAY / "usr/lib/systemd/system/unbound.service").read_text(encoding="utf-8")
    assert f"User={unbound.USER}\n" in unit
    for defconfig in (ROOT / "configs").iterdir():
        lines = defconfig.read_text(encoding="utf-8").splitlines()
        packages = ("UNBOUND", "CA_CERTIFICATES", "RADVD", "PPPD", "OPENSSH", "KEA")
        assert {f"BR2_PACKAGE_{name}=y" for name in packages} <= set(lines)


@pytest.mark.parametrize(
    ("backend", "folder"),
    [
        (dhcp.DhcpBackend, "dhcp"),
        (dhcp.RelayedDhcpBackend, "dhcp-relayed"),
        (Dhcp6Backend, "dhcp6"),
    ],
)
def test_kea_has_its_folders_and_its_user_and_keeps_leases_where_that_user_may(
    backend: type[KeaBackend[Any]], folder: str
) -> None:
    unit = (OVERLAY / "usr/lib/systemd/system" / backend.unit).read_text(encoding="utf-8")
    said = " ".join(re.findall(r"^Environment=(.*)$", unit, re.MULTILINE)).split()
    data = backend.unit_data
    places = kea.Kea(Path("/run/weir/daemons") / folder, data, family=backend.family).places()
    assert dict(word.split("=", 1) for word in said) == places
    assert f"StateDirectory={data.name}\n" in unit and data.parent == Path("/var/lib")
    recipe = (ROOT / "package/kea/kea.mk").read_text(encoding="utf-8")
    assert f"User={kea.USER}\n" in unit and f"\t{kea.USER} -1 {kea.USER} -1 " in recipe
    rights = {f"CAP_{name.upper()}" for name in backend.capabilities}
    for which in ("AmbientCapabilities", "CapabilityBoundingSet"):
        named = re.search(rf"^{which}=(.*)$", unit, re.MULTILINE)
        assert named is not None and set(named[1].split()) == rights


def test_the_relay_has_its_user_and_two_rights() -> None:
    unit = (OVERLAY / "usr/lib/systemd/system" / dhcp_relay.UNIT).read_text(encoding="utf-8")
    users = (ROOT / "package/weir-api/weir-api.mk").read_text(encoding="utf-8")
    assert f"User={UNIT_USER}\n" in unit and f"\t{UNIT_USER} -1 {UNIT_USER} -1 " in users
    for which in ("AmbientCapabilities", "CapabilityBoundingSet"):
        assert f"{which}=CAP_NET_RAW CAP_NET_BIND_SERVICE\n" in unit


def test_sessions_of_ssh_have_a_user_and_outlast_sshd() -> None:
    unit = (OVERLAY / "usr/lib/systemd/system" / SSH_UNIT).read_text(encoding="utf-8")
    assert "KillMode=process\n" in unit and "Restart=no\n" in unit and "NoNewPrivileges=yes\n" in unit
    users = (ROOT / "package/weir-api/weir-api.mk").read_text(encoding="utf-8")
    assert f"\t{SSH_USER} -1 {SSH_USER} -1 * - /bin/sh - " in users


def test_the_unit_of_a_pppoe_session_dials_with_what_the_agent_writes() -> None:
    folder = Sessions(Path("/run/weir/daemons/pppoe")).folder("%i")
    text = (OVERLAY / "usr/lib/systemd/system" / UNIT.format("")).read_text(encoding="utf-8")
    assert f"ConditionPathExists={folder}/options\n" in text
    assert f"ExecStart=/usr/sbin/pppd file {folder}/options\n" in text
    assert f"StandardOutput=append:{folder}/said\n" in text
    assert "DeviceAllow=/dev/ppp rw\n" in text and "Restart=no\n" in text


def test_nobody_else_has_the_terminals_or_lets_anybody_in() -> None:
    """systemd makes these by itself: logins on the kernel's console and on every terminal, ssh over vsock."""
    units = ("system/getty@.service", "system/serial-getty@.service", "system/autovt@.service")
    for name in (*units, "system-generators/systemd-ssh-generator"):
        assert (OVERLAY / "etc/systemd" / name).readlink() == Path("/dev/null")


def test_the_agent_and_the_web_interface_start_side_by_side() -> None:
    """The agent stands before network-pre.target: whatever waits for a network waits for it."""
    units = (ROOT / "package/weir-api/weir-api.service", OVERLAY / "etc/systemd/system/nginx.service")
    for unit in units:
        waits = re.findall(r"^After=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
        assert not {"network.target", "network-online.target", "weir-agent.service"} & set(
            " ".join(waits).split()
        )


def test_addresses_wait_for_the_data_partition_and_for_nothing_else() -> None:
    early = (OVERLAY / "usr/lib/systemd/system/weir-early.service").read_text(encoding="utf-8")
    assert "DefaultDependencies=no" in early
    assert "Conflicts=shutdown.target" in early
    assert re.findall(r"^After=(.*)$", early, re.MULTILINE) == ["weir-data.service"]


def test_the_page_does_not_wait_for_the_time_servers() -> None:
    """A timer is before what it starts, one with a calendar after time-sync.target (systemd.timer(5))."""
    for timer in (OVERLAY / "usr/lib/systemd/system").glob("*.timer"):
        text = timer.read_text(encoding="utf-8")
        started = re.search(r"^Unit=(.*)$", text, re.MULTILINE)
        assert started is not None, timer.name
        assert started[1] not in ("weir-tls.service", "nginx.service")


def test_the_agent_keeps_the_file_that_the_start_uses_and_does_not_work_beside_it() -> None:
    """Only the agent's folder is root's own, and closed to everybody else."""
    early = (OVERLAY / "usr/lib/systemd/system/weir-early.service").read_text(encoding="utf-8")
    agent = (ROOT / "package/weir-api/weir-agent.service").read_text(encoding="utf-8")
    script = (OVERLAY / "usr/libexec/weir/early").read_text(encoding="utf-8")
    kept = re.search(r"--early-file (\S+)", agent)
    assert kept is not None
    assert f"ConditionPathExists={kept[1]}\n" in early
    assert f"kept=${{1:-{kept[1]}}}\n" in script
    assert Path(kept[1]).parent == Path("/var/lib/weir-agent")
    assert "StateDirectory=weir-agent\nStateDirectoryMode=0700\n" in agent
    assert "Before=weir-agent.service\n" in early


def test_what_stands_back_at_the_start_is_not_given_up_meanwhile() -> None:
    """By 90 s, after which systemd would, a slow processor may still be busy with those that go first."""
    agent = (ROOT / "package/weir-api/weir-agent.service").read_text(encoding="utf-8")
    patience = re.search(r"^TimeoutStartSec=.*\n", agent, re.MULTILINE)
    assert patience is not None
    units = [*OVERLAY.rglob("*.service"), *OVERLAY.rglob("*.conf"), *(ROOT / "package").rglob("*.service")]
    texts = {unit: unit.read_text(encoding="utf-8") for unit in units if unit.is_file()}
    back = {unit: text for unit, text in texts.items() if "StartupCPUWeight=idle\n" in text}
    assert len(back) >= 5
    for unit, text in back.items():
        assert patience[0] in text, unit


def test_the_agent_asks_where_the_start_writes_of_the_data_partition() -> None:
    agent = (ROOT / "package/weir-api/weir-agent.service").read_text(encoding="utf-8")
    script = (OVERLAY / "usr/libexec/weir/data").read_text(encoding="utf-8")
    asked = re.search(r"^ExecStart=.* --data-state (\S+)$", agent, re.MULTILINE)
    assert asked is not None
    assert f"run={Path(asked[1]).parent}\n" in script
    assert f'mv "$run/state.new" "$run/{Path(asked[1]).name}"\n' in script


def test_the_agent_and_the_start_agree_on_the_certificates_files() -> None:
    agent = (ROOT / "package/weir-api/weir-agent.service").read_text(encoding="utf-8")
    script = (OVERLAY / "usr/libexec/weir/tls").read_text(encoding="utf-8")
    nginx = (OVERLAY / "etc/nginx/nginx.conf").read_text(encoding="utf-8")
    given = re.search(r"^ExecStart=/usr/bin/weir-agent (.*)$", agent, re.MULTILINE)
    assert given is not None
    options = parser().parse_args(given[1].replace("--api-uid weir", "").split())
    assert f"chosen=${{3:-{lasting(options)}/tls}}/weir.pem\n" in script
    assert f"used=${{2:-{options.tls_used.parent}}}/{options.tls_used.name}\n" in script
    assert f"ssl_certificate {options.tls_used};" in nginx and "listen 443 ssl" in nginx
    unit = options.tls_refresh.rpartition(" ")[2]
    assert options.tls_port == 443 and (OVERLAY / "usr/lib/systemd/system" / unit).exists()


def test_the_journal_leaves_most_of_the_smallest_data_partition() -> None:
    """512 MiB (usr/bin/weir-install); an update is there twice for a while, of 96 MiB each."""
    limits = (OVERLAY / "etc/systemd/journald.conf.d/weir.conf").read_text(encoding="utf-8")
    mebibytes = {name: int(size) for name, size in re.findall(r"^(\w+)=(\d+)M$", limits, re.MULTILINE)}
    assert mebibytes["SystemMaxUse"] + mebibytes["SystemKeepFree"] <= 512 // 4
    assert mebibytes["SystemMaxUse"] // mebibytes["SystemMaxFileSize"] >= 32, "starts, of one file each"
    nginx = (OVERLAY / "etc/nginx/nginx.conf").read_text(encoding="utf-8")
    assert re.findall(r"^\s*(error_log|access_log) (\S+)", nginx, re.MULTILINE) == [
        ("error_log", "stderr"),
        ("access_log", "off;"),
    ]


def test_no_unit_that_ours_name_is_switched_off() -> None:
    """Units that a router has no use for are links to nowhere: each would take its time at every start."""
    off = {link.name for link in (OVERLAY / "etc/systemd/system").iterdir() if link.is_symlink()}
    assert all((OVERLAY / "etc/systemd/system" / name).readlink() == Path("/dev/null") for name in off)
    assert {"modprobe@drm.service", "systemd-remount-fs.service"} <= off
    ours = [*OVERLAY.glob("**/*.service"), *OVERLAY.glob("**/*.conf"), *(ROOT / "package").rglob("*.service")]
    for unit in (path for path in ours if path.is_file()):
        text = unit.read_text(encoding="utf-8")
        named = " ".join(re.findall(r"^(?:After|Before|Wants|Requires)=(.*)$", text, re.MULTILINE)).split()
        assert not off & set(named), unit.name


def test_generators_and_rules_that_are_switched_off_lead_nowhere() -> None:
    for folder, needed in (
        ("systemd/system-generators", "fstab"),
        ("udev/rules.d", "persistent-storage.rules"),
    ):
        links = list((OVERLAY / "etc" / folder).iterdir())
        assert links
        assert all(link.readlink() == Path("/dev/null") for link in links)
        assert not any(link.name.endswith((needed, f"{needed}-generator")) for link in links)


def test_a_disk_is_asked_once_whether_it_is_ours() -> None:
    """Not each of its seven partitions: that is a program each, while the router starts."""
    rules = (OVERLAY / "usr/lib/udev/rules.d/60-weir-disk.rules").read_text(encoding="utf-8")
    asking = [line for line in rules.splitlines() if "PROGRAM" in line]
    assert len(asking) == 1
    assert 'ENV{DEVTYPE}=="disk"' in asking[0]


def test_the_kernel_protects_files_from_the_links_of_strangers() -> None:
    """Its own default is 0; systemd's differs by release, and in /etc ours wins (sysctl.d(5))."""
    lines = (OVERLAY / "etc/sysctl.d/weir-files.conf").read_text(encoding="utf-8").splitlines()
    settings = dict(line.split(" = ") for line in lines if not line.startswith("#"))
    assert settings == {"fs.protected_hardlinks": "1", "fs.protected_symlinks": "1"}


@pytest.mark.skipif(os.geteuid() != 0, reason="gives rights away")
def test_the_agent_can_take_all_other_rights_from_what_it_starts() -> None:
    """Else setpriv refuses (libcap-ng 0.8.5, which the image has) or leaves them all (0.8.3, Debian 12)."""
    unit = (ROOT / "package/weir-api/weir-agent.service").read_text(encoding="utf-8")
    names = " ".join(re.findall(r"^CapabilityBoundingSet=(.+)$", unit, re.MULTILINE)).split()
    rights = ",".join(("-all", *(f"+{name.removeprefix('CAP_').lower()}" for name in names)))
    agent = ("setpriv", "--inh-caps=-all", f"--bounding-set={rights}", "--")
    asked = (*agent, *without_root("nobody", "net_raw", group="nogroup"), "cat", "/proc/self/status")
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    held = dict(re.findall(r"^(Cap\w+):\t(\w+)$", done.stdout, re.MULTILINE))
    assert {name: int(value, 16) for name, value in held.items()} == dict.fromkeys(
        ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 1 << CAP_NET_RAW
    )
