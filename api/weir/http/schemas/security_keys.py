# SPDX-License-Identifier: Apache-2.0
"""Security keys and what browsers say of them (W3C Web Authentication) as JSON; bytes are base64url."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from marshmallow import fields, validate

from weir import signatures
from weir.accounts import webauthn
from weir.http.schemas.base import Answer, Input, Text, Whole

NAME_PATTERN = r"^\S(.*\S)?$"
_BASE64URL = r"^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?$"


class Bytes(Text):
    """Bytes as base64url without padding, which the view gets as bytes."""

    def __init__(self, most_bytes: int, **kwargs: Any):
        most_chars = -(-most_bytes * 4 // 3)
        form = validate.Regexp(_BASE64URL)
        super().__init__(min_length=2, max_length=most_chars, validate=[form], required=True, **kwargs)

    def deserialize(
        self, value: Any, attr: Any = None, data: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> Any:
        """After the checks of the text."""
        text = super().deserialize(value, attr, data, **kwargs)
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def bytes_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


class KeyRequestInput(Input):
    username = Text(min_length=1, max_length=64, required=True)
    password = Text(min_length=1, max_length=1024, required=True)


class KeyRequest(Answer):
    """For `navigator.credentials.get()`."""

    challenge = fields.String()
    rp_id = fields.String()
    credentials = fields.List(fields.String(), metadata={"description": "Which keys may answer."})
    timeout_ms = fields.Integer()


class KeyAnswerInput(Input):
    """What `navigator.credentials.get()` answered."""

    credential_id = Bytes(webauthn.MAX_CREDENTIAL_ID_BYTES)
    client_data = Bytes(webauthn.MAX_CLIENT_DATA_BYTES)
    authenticator_data = Bytes(webauthn.MAX_AUTHENTICATOR_DATA_BYTES)
    signature = Bytes(signatures.MAX_SIGNATURE_BYTES)


class SecurityKey(Answer):
    id = fields.String()
    name = fields.String()
    origin = fields.String(metadata={"description": "Where it answers, and nowhere else."})
    created_at = fields.String()
    last_used_at = fields.String(allow_none=True)


class SecurityKeyList(Answer):
    items = fields.List(fields.Nested(SecurityKey))


class OwnSecurityKeys(SecurityKeyList):
    origin = fields.String(
        allow_none=True,
        metadata={"description": "Where a key that is added now would answer. null: none can be added here."},
    )
    not_offered = fields.String(
        allow_none=True, metadata={"description": "Why none can be added here, and what to do."}
    )


class KeyOffer(Answer):
    """For `navigator.credentials.create()`, good for `timeout_ms`."""

    challenge = fields.String()
    rp_id = fields.String()
    user_handle = fields.String()
    username = fields.String()
    algorithms = fields.List(fields.Integer(), metadata={"description": "COSE's numbers."})
    excluded = fields.List(fields.String(), metadata={"description": "Keys that the account has."})
    timeout_ms = fields.Integer()


class KeyName(Input):
    name = Text(min_length=1, max_length=64, required=True, validate=[validate.Regexp(NAME_PATTERN)])


class NewKeyInput(KeyName):
    """What `navigator.credentials.create()` answered: without attestation."""

    credential_id = Bytes(webauthn.MAX_CREDENTIAL_ID_BYTES)
    public_key = Bytes(
        signatures.MAX_KEY_BYTES, metadata={"description": "Of `getPublicKey()`: a SubjectPublicKeyInfo."}
    )
    algorithm = Whole(-65_536, 0, required=True, metadata={"description": "Of `getPublicKeyAlgorithm()`."})
    client_data = Bytes(webauthn.MAX_CLIENT_DATA_BYTES)
    authenticator_data = Bytes(
        webauthn.MAX_AUTHENTICATOR_DATA_BYTES, metadata={"description": "Of `getAuthenticatorData()`."}
    )


class KeyAdded(Answer):
    key = fields.Nested(SecurityKey)
    recovery_codes = fields.List(
        fields.String(),
        metadata={"description": "With the first second factor of the account, shown this once; else none."},
    )
