# SPDX-License-Identifier: Apache-2.0
"""The kernel's fragments and patches, as far as they can be checked without compiling."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from weir.kinds.connection_helper import SPOKEN

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "board" / "kernel"
FRAGMENTS = sorted((KERNEL / "fragments").glob("*.config"))


def kernel_tool() -> ModuleType:
    loader = SourceFileLoader("weir_kernel_tool", str(KERNEL / "kernel"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


tool = kernel_tool()


@pytest.mark.parametrize("path", FRAGMENTS, ids=[path.name for path in FRAGMENTS])
def test_every_group_of_options_says_why(path: Path) -> None:
    groups = re.split(r"\n\s*\n", path.read_text(encoding="utf-8"))
    silent = [
        group for group in groups if "CONFIG_" in group and not re.search(r"^# \w", group, re.MULTILINE)
    ]
    allowed = {"20-router.config": 1, "30-shaping.config": 1, "40-bpf.config": 1, "50-netfilter.config": 1}
    # The first group stands under the heading of its file.
    assert len(silent) <= allowed.get(path.name, 0) + (path.name == "80-hardening.config"), silent


@pytest.mark.parametrize("path", FRAGMENTS, ids=[path.name for path in FRAGMENTS])
def test_every_line_is_an_option_or_a_comment(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        assert not line or line.startswith("# ") or re.fullmatch(r'CONFIG_\w+=(y|m|n|\d+|"[^"]*")', line), (
            line
        )


@pytest.mark.parametrize("variant", ["vm", "appliance"])
def test_no_option_is_asked_for_twice_with_two_values(variant: str) -> None:
    seen: dict[str, tuple[str, str]] = {}
    for path in tool.fragments(variant):
        if path.name == "90-vm.config":
            continue
        for name, value in tool.settings(path.read_text(encoding="utf-8")).items():
            assert seen.setdefault(name, (path.name, value))[1] == value, (name, seen[name], path.name)
            seen[name] = (path.name, value)


def test_an_option_that_kconfig_dropped_is_found() -> None:
    have = tool.settings("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\nCONFIG_MODULES=y\n")
    assert tool.lost_options({"A": "y", "C": "m", "D": "n"}, have) == []
    assert tool.lost_options({"B": "y"}, have) == ["CONFIG_B=y became n"]
    assert tool.lost_options({"C": "y"}, have) == ["CONFIG_C=y became m"]


def test_without_modules_a_module_is_built_in() -> None:
    have = tool.settings("CONFIG_A=y\n# CONFIG_MODULES is not set\n")
    assert tool.lost_options({"A": "m"}, have) == []
    assert tool.lost_options({"B": "m"}, have) == ["CONFIG_B=m became n"]


def test_the_datapath_finds_in_both_kernels_what_it_needs() -> None:
    needed = {
        "NET_SCH_FQ",
        "DEFAULT_FQ",
        "BPF_JIT",
        "DEBUG_INFO_BTF",
        "NET_CLS_ACT",
        "NF_FLOW_TABLE",
        "NET_XGRESS",
    }
    for variant in ("vm", "appliance"):
        wanted = tool.wanted(variant)
        assert {name for name in needed if wanted.get(name) != "y"} == set()


def test_the_appliance_has_every_helper_that_can_be_configured_without_loading_a_module() -> None:
    """The agent's unit may load none, and nothing else asks for what translates a helper's words."""
    wanted = tool.wanted("appliance")
    assert {name: wanted.get(f"NF_CONNTRACK_{name.upper()}") for name in SPOKEN} == dict.fromkeys(SPOKEN, "y")
    assert wanted.get("NFT_NAT") == "y", "it selects NF_NAT, by which NF_NAT_FTP and the others are built in"


@pytest.mark.parametrize("path", tool.patches(), ids=[path.name for path in tool.patches()])
def test_a_patch_can_be_sent_upstream(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    author = re.search(r"^From: (.+@.+)$", text, re.MULTILINE)
    assert author is not None
    assert f"\nSigned-off-by: {author[1]}\n" in text
    assert re.search(r"^Subject: \[PATCH", text, re.MULTILINE)
    assert "\n---\n" in text
    header = text.split("\n---\n")[0]
    assert all(len(line) <= 75 for line in header.splitlines() if not line.startswith("Subject"))


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed")
def test_the_cache_does_not_give_an_assembled_file_that_took_in_other_bytes(tmp_path: Path) -> None:
    """The packed kernel goes into its loader by .incbin, which ccache's depend mode does not see."""
    source, packed, compiled = (tmp_path / name for name in ("piggy.S", "packed", "piggy.o"))
    source.write_text(f'.section .rodata\n.incbin "{packed}"\n')
    environment = {**os.environ, **tool.CACHE, "CCACHE_DIR": str(tmp_path / "cache")}
    for words in (b"the first kernel", b"the other kernel"):
        packed.write_bytes(words)
        command = [
            str(KERNEL / "cc"),
            f"-Wp,-MMD,{tmp_path / 'piggy.d'}",
            "-c",
            "-o",
            str(compiled),
            str(source),
        ]
        subprocess.run(command, env=environment, check=True)
        assert words in compiled.read_bytes()


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed")
def test_what_one_clone_compiled_serves_another_until_a_header_changes(tmp_path: Path) -> None:
    environment = {**os.environ, **tool.CACHE, "CCACHE_DIR": str(tmp_path / "cache")}

    def compile_in(clone: str, number: int) -> bytes:
        folder = tmp_path / clone
        folder.mkdir(exist_ok=True)
        (folder / "number.h").write_text(f"#define NUMBER {number}\n")
        (folder / "number.c").write_text('#include "number.h"\nint number = NUMBER;\n')
        environment["CCACHE_BASEDIR"] = str(folder)
        command = [str(KERNEL / "cc"), "-Wp,-MMD,number.d", "-c", "-o", "number.o", "number.c"]
        subprocess.run(command, cwd=folder, env=environment, check=True)
        return (folder / "number.o").read_bytes()

    def hits() -> int:
        told = subprocess.run(
            ["ccache", "--print-stats"], env=environment, capture_output=True, text=True, check=True
        )
        return int(dict(line.split("\t") for line in told.stdout.splitlines())["direct_cache_hit"])

    first = compile_in("one", 1)
    assert (compile_in("two", 1), hits()) == (first, 1)
    assert compile_in("two", 2) != first
