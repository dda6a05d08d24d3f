# SPDX-License-Identifier: Apache-2.0
"""Public keys of SSH: which account somebody is who proves to have the private half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from weir.fields import Comment, Flag, Label, SshPublicKey, Text, Whole
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind
from weir.model.ssh_keys import MAX_RSA_BITS
from weir.model.unique import one_for_each


@dataclass(frozen=True, slots=True)
class SshKey(ConfigObject):
    """One key of one account. Only administrators change them: who has the key acts as the account."""

    kind: ClassVar[Kind] = "ssh-key"
    id: str
    account: Annotated[
        str,
        Label(
            help="The account whose rights and name a session with this key has. Its password and second "
            "factor are not asked for.",
            example="admin",
        ),
    ]
    key: Annotated[
        str,
        SshPublicKey(
            label="Public key",
            help="The line of a file .pub: Ed25519, ECDSA, RSA of 2,048 bits or more, or a security key. "
            "Options before it are refused.",
            example="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPHXDCSQ9kVhfKRHOnwQYpcIB9v4rLrbjyvhd3CW7zSm",
        ),
    ]
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and opens nothing.")] = False


KIND = Declaration(
    SshKey,
    singular="SSH key",
    plural="SSH keys",
    short="ssh-key",
    about="Public keys by which people sign in at the command line (`/user ssh-keys` of RouterOS).",
    argument="key_id",
    page="ssh-keys",
    columns=("account", "type", "fingerprint", "sessions", "comment"),
    state={
        "type": Text(40, help="What kind of key it is."),
        "bits": Whole(0, MAX_RSA_BITS, help="Its length."),
        "fingerprint": Text(60, help="As `ssh-keygen -l` shows it."),
        "sessions": Whole(0, 10_000, help="Open sessions with this key."),
    },
    area="System",
    purpose="Who has the private half signs in with `ssh cli@ROUTER`, and acts as the account.",
    rules=(
        one_for_each(
            SshKey,
            "one-account-for-each-key",
            key=lambda item: item.key,
            code="ssh-key-twice",
            field="key",
            says=lambda _item, first: f"this is the key of {first.id} already: a key says who somebody is",
        ),
    ),
)
