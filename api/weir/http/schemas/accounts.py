# SPDX-License-Identifier: Apache-2.0
"""Sign-in, users, tokens and the audit trail as JSON."""

from __future__ import annotations

from marshmallow import fields, validate

from weir.http.schemas.base import Answer, Flag, Input, Text, Whole, one_of
from weir.http.schemas.security_keys import KeyAnswerInput
from weir.model.scope import SCOPES

SECRET_PATTERN = r"^[A-Z2-7]{32}$"
USERNAME_PATTERN = r"^[a-z0-9][a-z0-9_.-]{0,31}$"


class SignInInput(Input):
    username = Text(min_length=1, max_length=64, required=True)
    password = Text(min_length=1, max_length=1024, required=True)
    code = Text(
        max_length=64,
        metadata={
            "description": "Of an account with a second factor: the six digits that its app shows, or a "
            "recovery code. Without it such an account is refused with `code-needed`, or `key-needed` where "
            "it has security keys."
        },
    )
    key = fields.Nested(
        KeyAnswerInput,
        metadata={"description": "In place of a code: what a security key answered to `/auth/sign-in/key`."},
    )


class SshSignInInput(Input):
    ticket = Text(
        min_length=64,
        max_length=64,
        required=True,
        metadata={"description": "What the SSH server gave the session (WEIR_SSH_TICKET)."},
    )
    source = Text(
        min_length=1, max_length=64, required=True, metadata={"description": "Where the session comes from."}
    )


class SshSignInAnswer(Answer):
    """The token is good for the session, which revokes it at its end."""

    id = fields.String()
    secret = fields.String()
    username = fields.String()
    scope = one_of(*SCOPES)


class PasswordInput(Input):
    old_password = Text(min_length=1, max_length=1024, required=True)
    new_password = Text(min_length=1, max_length=1024, required=True)


class User(Answer):
    username = fields.String()
    scope = one_of(
        *SCOPES,
        metadata={
            "description": "Each includes those before it. `support` changes limits, state and comment of "
            "queues that exist, and nothing else of the configuration."
        },
    )
    disabled = fields.Boolean()
    must_change_password = fields.Boolean()
    created_at = fields.String()
    last_sign_in_at = fields.String(allow_none=True)
    second_factor_since = fields.String(
        allow_none=True, metadata={"description": "null: the password is enough."}
    )
    security_keys = fields.Integer(metadata={"description": "How many it has."})


class UserPage(Answer):
    items = fields.List(fields.Nested(User))
    next_cursor = fields.String(allow_none=True)
    total = fields.Integer()


class UserCreateInput(Input):
    username = Text(min_length=1, max_length=32, required=True, validate=[validate.Regexp(USERNAME_PATTERN)])
    password = Text(
        min_length=1,
        max_length=1024,
        load_default=None,
        allow_none=True,
        metadata={"description": "null: a one-time password is made and answered."},
    )
    scope = one_of(*SCOPES, load_default="read")


class UserPatch(Input):
    scope = one_of(*SCOPES)
    disabled = Flag()


class UserCreated(Answer):
    user = fields.Nested(User)
    one_time_password = fields.String(
        allow_none=True, metadata={"description": "Shown this once; it must be changed at the first sign-in."}
    )


class SecondFactor(Answer):
    since = fields.String(allow_none=True, metadata={"description": "null: there is none."})
    app = fields.Boolean(metadata={"description": "Whether an authenticator app is part of it."})
    recovery_codes_left = fields.Integer()


class SecondFactorOffer(Answer):
    secret = fields.String(metadata={"description": "In base32, to be typed where nothing can be scanned."})
    uri = fields.String(metadata={"description": "An otpauth URI: what the QR code says."})
    qr_svg = fields.String(metadata={"description": "The QR code as an SVG document."})


class SecondFactorInput(Input):
    password = Text(min_length=1, max_length=1024, required=True)
    secret = Text(required=True, validate=[validate.Regexp(SECRET_PATTERN)])
    code = Text(min_length=1, max_length=16, required=True)


class RecoveryCodes(Answer):
    recovery_codes = fields.List(
        fields.String(),
        metadata={
            "description": "Each is good once, in place of app and key. Shown this once; none for an account "
            "that has some already, with its security keys."
        },
    )


class PasswordProof(Input):
    password = Text(min_length=1, max_length=1024, required=True)


class Session(Answer):
    id = fields.String()
    current = fields.Boolean()
    created_at = fields.String()
    last_seen_at = fields.String(allow_none=True)
    expires_at = fields.String(allow_none=True)
    source = fields.String(
        allow_none=True, metadata={"description": "The address that it was last used from."}
    )
    user_agent = fields.String(allow_none=True)


class SessionList(Answer):
    items = fields.List(fields.Nested(Session))


class SignInAnswer(Answer):
    user = fields.Nested(User)
    must_change_password = fields.Boolean()
    csrf_token = fields.String(metadata={"description": "Send it as X-CSRF-Token with unsafe methods."})


class Me(Answer):
    username = fields.String()
    scope = one_of(*SCOPES)
    via = one_of("session", "token")
    must_change_password = fields.Boolean()
    csrf_token = fields.String(allow_none=True, metadata={"description": "null when a token signed in."})


class Token(Answer):
    id = fields.String()
    name = fields.String()
    scope = one_of(*SCOPES)
    owner = fields.String()
    created_at = fields.String()
    expires_at = fields.String(allow_none=True)
    last_used_at = fields.String(allow_none=True)


class TokenPage(Answer):
    items = fields.List(fields.Nested(Token))
    next_cursor = fields.String(allow_none=True)
    total = fields.Integer()


class TokenCreateInput(Input):
    name = Text(min_length=1, max_length=64, required=True)
    scope = one_of(*SCOPES, load_default="read")
    expires_within_s = Whole(60, 10 * 366 * 86_400, load_default=None, allow_none=True)


class TokenCreated(Token):
    """The secret is shown this once; only its hash is kept."""

    secret = fields.String()


class AuditEntry(Answer):
    id = fields.Integer()
    at = fields.String()
    actor = fields.String()
    via = fields.String()
    source = fields.String(metadata={"description": "The address that the request came from."})
    action = fields.String()
    subject = fields.String(allow_none=True)
    outcome = fields.String()
    detail = fields.String(allow_none=True)


class AuditPage(Answer):
    items = fields.List(fields.Nested(AuditEntry))
    next_cursor = fields.String(allow_none=True)
