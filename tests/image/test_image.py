# SPDX-License-Identifier: Apache-2.0
"""The image's files against each other; `make image-check` loads them into Buildroot as well."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from tests.image.started import modules, started
from weir.adapters import tc
from weir.adapters.frr_daemons import PROTOCOLS

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "board" / "image"

_loader = SourceFileLoader("weir_image_check", str(IMAGE / "check.py"))
_spec = spec_from_loader(_loader.name, _loader)
assert _spec is not None
check = module_from_spec(_spec)
_loader.exec_module(check)


def test_defconfigs_name_files_that_exist() -> None:
    assert check.check_paths() == []


def test_defconfigs_differ_only_where_the_machines_do() -> None:
    assert check.check_variants() == []


def test_the_image_takes_every_fragment_of_the_kernel() -> None:
    assert check.check_fragments() == []


def test_the_image_can_read_how_the_kernel_and_its_modules_are_packed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert check.check_compression() == []
    monkeypatch.setattr(check, "wanted", lambda _: {})
    said = "\n".join(check.check_compression())
    for option in ("LINUX_KERNEL_ZSTD", "PACKAGE_ZSTD", "PACKAGE_HOST_KMOD_ZSTD"):
        assert f"BR2_{option}" in said


def test_what_the_scripts_ask_of_busybox_is_in_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Buildroot's configuration has no `stat`, by which boot-choice knows a file that it can write over."""
    wanted = ["STAT", "FEATURE_STAT_FORMAT", "FEATURE_STAT_FILESYSTEM", "FEATURE_SYNC_FANCY"]
    theirs = tmp_path / "package/busybox/busybox.config"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("".join(f"# CONFIG_{name} is not set\n" for name in wanted) + "CONFIG_SYNC=y\n")
    assert check.check_applets(tmp_path) == []
    shutil.copytree(ROOT / "board/overlay", tmp_path / "board/overlay")
    (tmp_path / "board/busybox.config").touch()
    monkeypatch.setattr(check, "ROOT", tmp_path)
    missing = re.findall(r"CONFIG_(\w+)", "\n".join(check.check_applets(tmp_path)))
    assert set(missing) == set(wanted)
    for name in check.DEFCONFIGS:
        defconfig = (ROOT / "configs" / name).read_text(encoding="utf-8")
        assert "/../board/busybox.config" in defconfig


def test_an_option_that_kconfig_drops_is_a_problem_and_no_source_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "board/kernel").mkdir(parents=True)
    (tmp_path / "build/kernel").mkdir(parents=True)
    program = tmp_path / "board/kernel/kernel"
    program.write_text('#!/bin/sh\n[ "$2" = vm ] || { echo CONFIG_A=y became n >&2; exit 1; }\n')
    program.chmod(0o755)
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.delenv("LINUX_SOURCE_DIR", raising=False)
    assert check.check_kernel_options() is None
    monkeypatch.setenv("LINUX_SOURCE_DIR", str(tmp_path))
    (tmp_path / "Kconfig").touch()
    assert check.check_kernel_options() == ["appliance: CONFIG_A=y became n"]


def test_each_user_of_a_unit_is_made_once() -> None:
    """Buildroot's unbound makes its user; a second line of ours took the home folder from it."""
    ours = "".join((ROOT / f"package/{name}/{name}.mk").read_text("utf-8") for name in ("kea", "weir-api"))
    theirs = "unbound -1 unbound -1 * /etc/unbound - - unbound daemon\n"
    theirs += "# groups\n- - render -1 * - - - nodes\n- - kvm -1 * - - - nodes\n"
    assert check.check_users(theirs + ours, "www-data:x:33:33::/var/www:/bin/false\n") == []
    assert check.check_users(ours, "") == ["no package makes the user unbound, which a unit runs as"]
    assert check.check_users(theirs + theirs + ours, "") == ["more than one package makes the user unbound"]


def test_python_on_the_image_has_what_our_code_and_its_libraries_import() -> None:
    """Without expat Buildroot installs no `xml`, which QR codes are drawn with."""
    everything = {f"BR2_PACKAGE_PYTHON3_{option}": "y" for option in check.MODULES}
    assert check.check_modules(everything) == []
    said = "\n".join(check.check_modules({**everything, "BR2_PACKAGE_PYTHON3_PYEXPAT": "n"}))
    assert "import qrcode.image.svg" in said and "import sqlite3" not in said
    recipe = (ROOT / "package/weir-api/Config.in").read_text(encoding="utf-8")
    for option in ("PYTHON3_DECIMAL", "PYTHON3_SQLITE", "PYTHON3_SSL", "PYTHON3_ZLIB", "PYTHON_QRCODE_SVG"):
        assert f"\tselect BR2_PACKAGE_{option} # runtime" in recipe


def test_the_overlay_brings_no_folder_that_is_a_link_in_the_image() -> None:
    assert check.check_overlay() == []


# Where a variable says which program: what it may be.
UNSAID = {
    "adapters/daemon.py": (),  # what a `Program` says
    "adapters/datapath_probe.py": (),  # what its `_run` is given
    "adapters/frr_daemons.py": PROTOCOLS,
    "adapters/kea.py": ("kea-dhcp4", "kea-dhcp6"),
    "adapters/process.py": (),  # what its callers give it
    "adapters/tc.py": ("tc",),
    "adapters/web_server.py": ("systemctl",),
    "backends/kea.py": (),  # weir.adapters.kea
    "backends/dhcp_relay.py": ("python3",),  # weir.adapters.dhcp_relay
    "backends/dns.py": (),  # weir.adapters.unbound
    "console/main.py": ("bash",),  # and weir-install, our own
}


def test_the_image_has_every_program_that_our_code_and_units_start() -> None:
    """An installed busybox hides it: its `setpriv` is there and takes none of the words that we give it."""
    found, unsaid = {"curl", "env"}, set()  # dehydrated's, and what Kea gets its folders by
    for name, source in modules(ROOT / "api/weir"):
        names, lines = started(source)
        found |= names
        unsaid |= {name} if lines else set()
    assert unsaid == set(UNSAID), "calls of which nobody says which program they start"
    for names in UNSAID.values():
        found |= {*names}
    for unit in (*(ROOT / "board/overlay").rglob("*.service"), *(ROOT / "board/overlay").rglob("*.conf")):
        found |= {*re.findall(r"^ExecStart=/usr/s?bin/(?!weir-)(\S+)", unit.read_text("utf-8"), re.MULTILINE)}
    assert found == set(check.PROGRAMS)
    for defconfig in check.DEFCONFIGS:
        wanted = check.wanted(defconfig)
        named = {option for option in check.PROGRAMS.values() if wanted.get(option) == "y"}
        assert set(check.PROGRAMS.values()) - named == check.IMPLIED, defconfig


def test_what_a_module_starts_is_read_from_its_source() -> None:
    source = """
def probe(reader="journalctl", *words):
    subprocess.Popen((*without_root("nobody"), reader, "-q"))
    run(["nft", "-j"])
    run(f"ip route show {words}".split())
    run(words)
"""
    assert started(source) == ({"setpriv", "journalctl", "nft", "ip"}, [6])


def test_grub_rauc_and_the_disk_agree_on_slots() -> None:
    rauc = (ROOT / "board/overlay/etc/rauc/system.conf").read_text(encoding="utf-8")
    disk = (IMAGE / "genimage.cfg").read_text(encoding="utf-8")
    grub = (IMAGE / "grub.cfg").read_text(encoding="utf-8")
    partitions = re.findall(r"^\tpartition (\S+)", disk, re.MULTILINE)
    in_table = [name for name in partitions if name != "mbr"]
    for slot in "AB":
        assert f"device=/dev/weir/system-{slot}" in rauc
        assert f"bootname={slot}" in rauc
        assert f"device=/dev/weir/kernel-{slot}" in rauc
        number = in_table.index(f"kernel-{slot}") + 1
        assert f"partition=gpt{number}" in grub
    manifest = (IMAGE / "manifest.raucm.in").read_text(encoding="utf-8")
    assert re.findall(r"^compatible=(.*)$", rauc + manifest, re.MULTILINE) == ["weir-x86_64"] * 2


def test_an_update_fits_beside_the_configuration_on_a_disk_that_cannot_grow() -> None:
    """The bundle lies there twice for a while (docs/adr/0056): 90 MB of system and 15 of kernel at most."""
    disk = (IMAGE / "genimage.cfg").read_text(encoding="utf-8")
    data = re.search(r"^image data\.ext4 \{.*?^\tsize = (\d+)M$", disk, re.MULTILINE | re.DOTALL)
    assert data is not None
    assert int(data[1]) * 0.9 > 2 * (90 + 15) + 64


def test_grub_understands_its_files() -> None:
    checker = shutil.which("grub-script-check")
    if checker is None:
        pytest.skip("grub-script-check is missing (Debian: grub-common)")
    for name in ("grub.cfg", "grub-start.cfg"):
        done = subprocess.run([checker, str(IMAGE / name)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_what_grub_reads_before_its_menu_holds_no_comment() -> None:
    """Its first parser takes `#` for a command that it does not know, and says so at each start."""
    first = (IMAGE / "grub-start.cfg").read_text(encoding="utf-8").splitlines()
    assert [line for line in first if line.lstrip().startswith("#")] == []


def test_tuning_gives_a_reason_and_evidence_for_each_setting() -> None:
    document = tomllib.loads((ROOT / "board/tuning.toml").read_text(encoding="utf-8"))
    assert document["version"] == 1
    settings = document["setting"]
    assert len({item["id"] for item in settings}) == len(settings)
    for item in settings:
        assert set(item) <= {"id", "scope", "match", "key", "value", "reason", "evidence", "measured"}
        assert item["scope"] in ("sysctl", "cmdline", "interface", "service")
        assert item["evidence"] in ("E1", "E2", "E3", "E4", "E5")
        assert item["measured"] in ("figure", "function", "no")
        assert isinstance(item["value"], str) and len(item["reason"]) > 10
        assert ("match" in item) == (item["scope"] in ("interface", "service")), item["id"]


def test_the_image_has_the_tuning_s_boot_parameters_and_properties_of_services() -> None:
    """What boot parameters and properties of services are before anybody overrides them."""
    document = tomllib.loads((ROOT / "board/tuning.toml").read_text(encoding="utf-8"))
    menu = (IMAGE / "grub.cfg").read_text(encoding="utf-8")
    own = re.search(r'^set parameters="(.*)"$', menu, re.MULTILINE)
    assert own is not None
    settings = [item for item in document["setting"] if item["scope"] == "cmdline"]
    assert own[1].split() == [f"{item['key']}={item['value']}" for item in settings]
    for item in document["setting"]:
        line = f"{item['key']}={item['value']}"
        if item["scope"] == "service":
            unit = item["match"]["unit"]
            places = [ROOT / "package/weir-api" / unit, *(ROOT / "board/overlay").rglob(f"{unit}.d/*.conf")]
            texts = [path.read_text(encoding="utf-8") for path in places if path.exists()]
            assert any(line in text.splitlines() for text in texts), item["id"]


def test_the_agent_knows_every_setting_of_an_interface() -> None:
    known = {"threaded", "xps", "rps", "irq", "ring.rx", "coalesce.adaptive-rx", "pause"}
    known |= {"offload.lro", "offload.gro-hw"}
    document = tomllib.loads((ROOT / "board/tuning.toml").read_text(encoding="utf-8"))
    keys = {item["key"] for item in document["setting"] if item["scope"] == "interface"}
    assert {key for key in keys if not key.startswith("fq.")} <= known
    for key in known:
        assert f'"{key}"' in (ROOT / "api/weir/adapters/tunables.py").read_text(encoding="utf-8")


def test_what_the_tuning_says_of_the_leaves_is_what_the_shaper_sets() -> None:
    document = tomllib.loads((ROOT / "board/tuning.toml").read_text(encoding="utf-8"))
    values = {item["key"]: item["value"] for item in document["setting"]}
    assert values["fq.flow_limit"] == str(tc.FQ_FLOW_LIMIT)
    assert values["fq.orphan_mask"] == str(tc.FQ_ORPHAN_MASK)
    assert values["fq.horizon"] == f"{tc.FQ_HORIZON_MS // 1000}s"
