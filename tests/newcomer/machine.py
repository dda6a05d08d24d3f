# SPDX-License-Identifier: Apache-2.0
"""How this machine reaches its package registries: given to a bare tree at run time, written nowhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from lab import plan

CERTIFICATES = ("etc/ssl/certs/ca-certificates.crt", "usr/local/share/ca-certificates")
SETTINGS = ("etc/resolv.conf", "etc/hosts", "etc/apt/auth.conf", "etc/apt/auth.conf.d", "etc/pip.conf")
SETTINGS_OF_NPM = ("etc/npmrc", "usr/etc/npmrc", "usr/local/etc/npmrc")
SETTINGS_AT_HOME = (".npmrc", ".pip/pip.conf", ".config/pip/pip.conf", ".netrc")
CACHES_AT_HOME = (".cache/pip", ".npm")
APT = ("Acquire::http", "Acquire::https", "Acquire::Retries", "Acquire::ForceIPv")
VARIABLES = ("PIP_", "NPM_CONFIG_", "NODE_EXTRA_", "SSL_CERT_", "REQUESTS_CA_", "CURL_CA_", "GIT_SSL_")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def mirror() -> str:
    """The address that this machine's own release comes from."""
    command = [str(plan.ROOT / "lab" / "setup" / "suite.sh"), "mirror"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def copy_settings(tree: Path) -> None:
    for name in (*CERTIFICATES, *SETTINGS, *SETTINGS_OF_NPM):
        _copy(Path("/", name), tree / name)
    for name in SETTINGS_AT_HOME:
        _copy(Path.home() / name, tree / "root" / name)
    dumped = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    lines = [line for line in dumped.splitlines() if line.startswith(APT)]
    (tree / "etc/apt/apt.conf.d/90-machine").write_text("\n".join([*lines, ""]))


def environment() -> dict[str, str]:
    """What a person who signs in there has, and how this machine's clients find their registries."""
    kept = {name: value for name, value in os.environ.items() if name.upper().startswith(VARIABLES)}
    kept |= {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    return {"PATH": PATH, "HOME": "/root", "TERM": "dumb", "LANG": "C.UTF-8", **kept}


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
