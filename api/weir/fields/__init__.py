# SPDX-License-Identifier: Apache-2.0
"""What a field of a configured object can be: its values, bounds and form, each said once.

A field type knows values only. JSON is read here; the OpenAPI document, the command line, the web interface's
forms and the reference documentation look at the attributes of a field and make of it what they need.
"""

from weir.fields.base import Field, When
from weir.fields.collections import Many, Table
from weir.fields.comment import Comment
from weir.fields.groups import Case, Group, OneOf, Rows
from weir.fields.hours import Hours
from weir.fields.hours import hours_json as hours_json
from weir.fields.ids import INTERFACE_NAMES, OBJECT_IDS, TYPE_NAMES, IdForm
from weir.fields.numbers import Flag, Port, Whole
from weir.fields.pairs import EachWay
from weir.fields.position import Position
from weir.fields.secret import Secret
from weir.fields.texts import (
    Address,
    AddressRange,
    Characters,
    Choice,
    DnsName,
    End,
    Endpoint,
    Host,
    HostName,
    HostPart,
    Label,
    Mac,
    Mailbox,
    Moment,
    Pem,
    Ports,
    Prefix,
    PublicKey,
    Quantity,
    Ref,
    SetMember,
    SshPublicKey,
    Target,
    Text,
    Url,
    Vlans,
    Word,
    ZoneName,
)

__all__ = [
    "INTERFACE_NAMES",
    "OBJECT_IDS",
    "TYPE_NAMES",
    "Address",
    "AddressRange",
    "Case",
    "Characters",
    "Choice",
    "Comment",
    "DnsName",
    "EachWay",
    "End",
    "Endpoint",
    "Field",
    "Flag",
    "Group",
    "Host",
    "HostName",
    "HostPart",
    "Hours",
    "IdForm",
    "Label",
    "Mac",
    "Mailbox",
    "Many",
    "Moment",
    "OneOf",
    "Pem",
    "Port",
    "Ports",
    "Position",
    "Prefix",
    "PublicKey",
    "Quantity",
    "Ref",
    "Rows",
    "Secret",
    "SetMember",
    "SshPublicKey",
    "Table",
    "Target",
    "Text",
    "Url",
    "Vlans",
    "When",
    "Whole",
    "Word",
    "ZoneName",
]
