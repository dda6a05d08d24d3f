# SPDX-License-Identifier: Apache-2.0
"""Local records: names that this router knows by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

from weir.fields import OBJECT_IDS, Choice, Comment, Flag, HostName, Text, When, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.dns import Dns
from weir.model.address import is_dns_name
from weir.model.dns_values import MAX_TEXT_BYTES, RECORD_TYPES, absolute, name_of, reverse_name, value_text
from weir.model.document import Document
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding, Invalid
from weir.model.rule import Rule, View, all_after, error, own
from weir.model.unique import one_for_each


@dataclass(frozen=True, slots=True)
class DnsRecord(ConfigObject):
    """One record. It wins over a lease and over what others say of the name."""

    kind: ClassVar[Kind] = "dns-record"
    id: str
    name: Annotated[
        str,
        HostName(
            help="The name that is asked for; without a dot it is one of the local domain. Of PTR it is the "
            "address.",
            example="printer",
        ),
    ] = field()
    value: Annotated[
        str,
        Text(
            MAX_TEXT_BYTES,
            min_chars=1,
            help="What is answered: an address, a name, a text; of MX `10 mail.example.com`, of SRV "
            "`0 5 5060 sip.example.com`.",
            example="192.168.88.10",
        ),
    ] = field()
    type: Annotated[
        str,
        Choice(
            *RECORD_TYPES,
            help="`A` and `AAAA`: addresses, whose name is found by the address as well. `CNAME`: another "
            "name for a host.",
        ),
    ] = "A"
    ttl_s: Annotated[
        int,
        Whole(0, 604_800, label="TTL", importance="folded", help="For so long others remember the answer."),
    ] = 300
    subdomains: Annotated[
        bool,
        Flag(
            when=When("type", ("A", "AAAA", "CNAME", "TXT")),
            importance="folded",
            help="Also for every name below it.",
        ),
    ] = False
    comment: Comment = ""
    disabled: Annotated[bool, Flag(help="It is kept, and nobody is told of it.")] = False

    def owner(self, domain: str) -> str:
        """The absolute name that is asked for; `domain` is the local one."""
        if is_dns_name(self.name):
            return absolute(self.name, domain)
        return reverse_name(self.name) if self.type == "PTR" else self.name


def says_what_its_type_has(view: View, item: DnsRecord) -> Iterator[Finding]:
    domain = view.document.single(Dns).domain
    is_name = is_dns_name(item.name)
    if not is_name and item.type != "PTR":
        yield error("no-name", item, "name", f"{item.name} is an address; only PTR has one as its name")
    if is_name and item.type == "PTR" and not item.name.endswith(".arpa"):
        yield error("bad-value", item, "name", f"PTR gives the name of an address, and {item.name} is none")
    try:
        value_text(item.type, item.value, domain)
    except Invalid as problem:
        text = f"the value of {item.type} {problem.message}"
        yield error(problem.code, item, "value", text)


def aliases(document: Document) -> Mapping[str, str]:
    """From the names of enabled CNAME records to the names that they stand for."""
    domain = document.single(Dns).domain
    found = {}
    for item in sorted(document.every(DnsRecord), key=lambda item: item.id):
        if item.type == "CNAME" and not item.disabled:
            try:
                found[item.owner(domain)] = name_of(item.value, domain)
            except Invalid:
                continue  # its own finding says so
    return found


def alias_stands_alone(view: View, item: DnsRecord) -> Iterator[Finding]:
    """An alias leads to no alias of itself, and its name has no other record (RFC 1034, 3.6.2)."""
    if item.disabled or item.type != "CNAME":
        return
    domain = view.document.single(Dns).domain
    known = view.worked_out("DNS aliases", lambda: aliases(view.document))
    seen, name = [item.owner(domain)], known.get(item.owner(domain))
    while name is not None and name not in seen:
        seen.append(name)
        name = known.get(name)
    if name == seen[0]:
        yield error(
            "dns-loop", item, "value", f"these names stand for each other: {' -> '.join([*seen, name])}"
        )
    others = view.worked_out("names of DNS records", lambda: _owners(view.document))
    for other in others.get(seen[0], ()):
        if other != item.id:
            text = f"{seen[0]} stands for another name, so it can have no other record, and {other} is one"
            yield error("alias-not-alone", item, "name", text)
            return


def _owners(document: Document) -> dict[str, list[str]]:
    domain = document.single(Dns).domain
    found: dict[str, list[str]] = {}
    for item in document.every(DnsRecord):
        if not item.disabled:
            found.setdefault(item.owner(domain), []).append(item.id)
    return found


_AFTER = all_after("dns-record", "dns-record", "dns")

KIND = Declaration(
    DnsRecord,
    singular="DNS record",
    plural="DNS records",
    short="dns-record",
    about="Names that this router knows by itself (`/ip dns static` of RouterOS).",
    ids=replace(OBJECT_IDS, assigned="n"),
    argument="record_id",
    columns=("name", "type", "value", "comment"),
    named_by="name",
    area="Services",
    purpose="A record gives a name to a host, or another answer to a question. It wins over leases and over "
    "what the rest of the world says.",
    rules=(
        Rule("says-what-its-type-has", "dns-record", says_what_its_type_has, own("dns-record"), True),
        Rule(
            "alias-stands-alone",
            "dns-record",
            alias_stands_alone,
            all_after("dns-record", "dns-record", "dns"),
            True,
        ),
        one_for_each(
            DnsRecord,
            "one record for each answer",
            key=lambda item: None if item.disabled else (item.name, item.type, item.value),
            code="record-twice",
            field="value",
            says=lambda item, first: f"record {first.id} says this of {item.name} already",
        ),
    ),
)
