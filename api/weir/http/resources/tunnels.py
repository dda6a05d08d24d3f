# SPDX-License-Identifier: Apache-2.0
"""Peers of WireGuard tunnels, and the configuration of those that are clients of this router."""

from __future__ import annotations

from flask import Response
from marshmallow import fields

from weir.formats.qr import svg_of
from weir.http import editing
from weir.http.context import me, service
from weir.http.endpoint import WRITE, answer
from weir.http.resources.kinds import resource_of
from weir.http.schemas import base
from weir.http.schemas.kinds import schemas_of

KIND = "wireguard-peer"


class TunnelClient(base.Answer):
    """Shown once: the router keeps the public key and the preshared key, and nothing else of it."""

    config = fields.String(metadata={"description": "As `wg-quick` and the apps of WireGuard read it."})
    qr_svg = fields.String(metadata={"description": "The same as a QR code, a picture to be scanned."})


resource = resource_of(KIND, schemas_of(KIND))


@resource.operation(
    "POST",
    "/wireguard-peers/<string(maxlength=63):peer_id>/client",
    scope=WRITE,
    answers=TunnelClient,
    precondition=True,
)
def make_wireguard_client(peer_id: str) -> Response:
    """Make a client's configuration

    With new keys, whose public halves the peer has from then on: the configuration from before does not
    work any more. It is answered once. The peer says what is in it in `client`.
    """
    current = editing.find(KIND, peer_id, staged=False)
    made = service().clients.make(me(), peer_id, editing.expected_etag(current, KIND, peer_id))
    stored = service().config.get(me(), KIND, peer_id)
    return answer(
        {"config": made.text, "qr_svg": svg_of(made.text)},
        etag=stored.etag,
        Weir_Revision=str(made.committed.revision),
        Cache_Control="no-store",
    )
