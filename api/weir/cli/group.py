# SPDX-License-Identifier: Apache-2.0
"""The frame of the command line: `--json` on every command, and every failure as one clear message.

Exit codes: 0 done; 1 the router refused; 2 wrong usage; 3 the router does not answer; 4 not signed in
or not allowed; 5 somebody else changed it, or something must be settled first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

import click

from weir.cli import output
from weir.cli.client import ApiError, Client, Unreachable
from weir.cli.login import LoginError, resolve
from weir.model.problem import Problem

REFUSED, UNREACHABLE, NOT_ALLOWED, CONFLICT = 1, 3, 4, 5
_CODES = {401: NOT_ALLOWED, 403: NOT_ALLOWED, 409: CONFLICT, 412: CONFLICT, 428: CONFLICT}


class Session:
    """What commands share; the client is made when it is first needed."""

    def __init__(self, url: str | None, token: str | None) -> None:
        self.url = url
        self.token = token
        self.json = False
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        if self._client is None:
            login = resolve(self.url, self.token)
            self._client = Client(login.url, login.token)
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


class Command(click.Command):
    """Every command takes --json, also behind its other options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

        def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
            if value and isinstance(context.obj, Session):
                context.obj.json = True

        self.params.append(
            click.Option(
                ["--json", "as_json"],
                is_flag=True,
                expose_value=False,
                callback=remember,
                help="Print the API's answer.",
            )
        )


class Group(click.Group):
    """Groups of such commands."""

    command_class = Command

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run; failures become messages and exit codes."""
        try:
            return super().main(*args, **kwargs)
        except ApiError as error:
            refuse(error)
        except (Unreachable, LoginError) as error:
            fail(str(error), UNREACHABLE)
        except Problem as problem:
            fail(problem.message, 2)
        except UnicodeEncodeError as error:
            if error.encoding != "utf-8":
                raise
            given = kwargs.get("args", args[0] if args else None)
            fail(_not_text(error, sys.argv[1:] if given is None else given), 2)
        except OSError as error:
            _let_go(sys.stdout)
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}", 2)


def refuse(error: ApiError) -> NoReturn:
    """The API's problem, with its findings, on standard error."""
    findings = [item for item in error.problem.get("findings", ()) if isinstance(item, dict)]
    click.echo(f"{click.style('error', fg='red')}: {output.clean(str(error))}", err=True)
    if len(findings) > 1 or (findings and str(findings[0].get("message")) not in str(error)):
        output.findings(findings[:50])
    if error.status == 401:
        click.echo("Run `weir login`, or set WEIR_TOKEN.", err=True)
    sys.exit(_CODES.get(error.status, REFUSED))


def fail(message: str, code: int) -> NoReturn:
    try:
        click.echo(f"{click.style('error', fg='red')}: {output.clean(message)}", err=True)
    except OSError:
        _let_go(sys.stderr)  # the code alone says it then
    sys.exit(code)


def _not_text(error: UnicodeEncodeError, given: Sequence[str]) -> str:
    """Bytes of a shell that are no UTF-8 are halves of Unicode pairs here, which cannot be sent."""
    odd = error.object[error.start]
    what = next((repr(text[:60]) for text in given if odd in text), "what was given")
    return f"{what} is not text in UTF-8"


def _let_go(stream: TextIO) -> None:
    """A buffered stream that cannot be written still holds its text; what it holds is dropped.

    Python would try to write it once more at its own end, and turn the exit code into 120.
    """
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


pass_session = click.make_pass_decorator(Session)
