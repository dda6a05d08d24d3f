# SPDX-License-Identifier: Apache-2.0
"""Certificates of all sorts, made by OpenSSL: an authority with an intermediate, and what both sign."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

EC = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


LEAF = ("subjectAltName=DNS:router.example.net", "basicConstraints=critical,CA:FALSE")


@dataclass(frozen=True)
class Pair:
    """Key and certificate in PEM, and the files that have them."""

    key: str
    certificate: str
    key_file: Path
    file: Path


class Pki:
    """`root` signs `issuing`, which signs what is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        authority = ("basicConstraints=critical,CA:TRUE",)
        self.root = self.make("root", authority)
        self.issuing = self.make("issuing", authority, by=self.root)

    def make(
        self,
        name: str,
        extensions: tuple[str, ...] = LEAF,
        by: Pair | None = None,
        key: tuple[str, ...] = EC,
        days: tuple[str, ...] = ("-days", "90"),
        digest: str = "-sha256",
    ) -> Pair:
        key_file, file = self._folder / f"{name}.key", self._folder / f"{name}.pem"
        said = ("-utf8", "-subj", f"/CN={name}", *(word for text in extensions for word in ("-addext", text)))
        asked = ("openssl", "req", "-newkey", *key, "-nodes", digest, *said, "-keyout", str(key_file))
        if by is None:
            openssl(*asked, "-x509", *days, "-out", str(file))
        else:
            request = str(file.with_suffix(".csr"))
            openssl(*asked, "-out", request)
            signer = ("-CA", str(by.file), "-CAkey", str(by.key_file), "-copy_extensions", "copy")
            openssl("openssl", "x509", "-req", "-in", request, *signer, *days, digest, "-out", str(file))
        return Pair(key_file.read_text(), file.read_text(), key_file, file)

    def leaf(self, name: str = "router", **how: tuple[str, ...]) -> Pair:
        return self.make(name, by=self.issuing, **how)  # type: ignore[arg-type]


def openssl(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
