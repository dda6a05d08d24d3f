# SPDX-License-Identifier: Apache-2.0
"""`weir doctor`: is the router well, what ails it, and doing something about it."""

from __future__ import annotations

from typing import Any

import click

from weir.cli import output
from weir.cli.group import REFUSED, Group, Session, pass_session

Json = dict[str, Any]
WARNED = 6
"""Exit code when something ails the router that is no failure."""
_COLOURS = {"ok": "green", "notice": "blue", "warning": "yellow", "error": "red", "failed": "red"}


@click.group("doctor", cls=Group, invoke_without_command=True)
@pass_session
def doctor(session: Session) -> None:
    """Is the router well? Exit code 1 when something has failed, 6 when a finding is a warning."""
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        return
    answer = session.client.get("/system")
    found = session.client.get("/diagnosis/findings") if answer["agent"]["connected"] else None
    if session.json:
        output.show_json({**answer, "diagnosis": found})
    else:
        show_health(answer)
        show_findings(found)
    severities = {item["severity"] for item in found["findings"]} if found else set()
    if answer["health"] == "failed" or "error" in severities:
        context.exit(REFUSED)
    if "warning" in severities:
        context.exit(WARNED)


@doctor.command("apply")
@click.argument("code")
@click.argument("subject")
@click.argument("remedy")
@click.option(
    "--confirm-within", type=click.IntRange(60, 3600), default=300, show_default=True, help="Seconds."
)
@pass_session
def apply(session: Session, code: str, subject: str, remedy: str, confirm_within: int) -> None:
    """Apply REMEDY of the finding CODE of SUBJECT on trial; see the outcome in `weir doctor`."""
    body = {"code": code, "subject": subject, "remedy": remedy, "confirm_within_s": confirm_within}
    answer = session.client.write("POST", "/diagnosis/apply", body)
    if session.json:
        output.show_json(answer)
        return
    revision = answer["committed"]["revision"]
    click.echo(f"Revision {revision}; it goes back in {confirm_within} s unless you confirm it: weir confirm")
    click.echo(answer["trial"]["sentence"] if answer["trial"] else f"Not measured: {answer['untried']}.")


def show_findings(found: Json | None) -> None:
    if found is None:
        click.echo("What ails the system is not known: the agent does not answer.")
        return
    for item in found["findings"]:
        severity = click.style(f"{item['severity']:<8}", fg=_COLOURS[item["severity"]])
        subject = output.clean(item["subject"])
        click.echo(f"{severity} {item['code']} {subject!r}: {output.clean(item['sentence'])}")
        numbers = ", ".join(_number(number) for number in item["numbers"])
        click.echo(f"{'':<8}   since {item['since']} ({item['evidence']}): {numbers}")
        if item["doubt"]:
            click.echo(f"{'':<8}   not looked at lately: {output.clean(item['doubt'])}")
        for remedy in item["remedies"]:
            click.echo(f"{'':<8}   {remedy['id']}: {_remedy(remedy)}")
    for trial in found["trials"]:
        what = f"{trial['code']} {output.clean(trial['subject'])!r}: {trial['remedy']}"
        click.echo(f"{'trial':<8} {what} (revision {trial['revision']}). {output.clean(trial['sentence'])}")
    if not found["findings"] and found["looked_at"]:
        click.echo(f"{'ok':<8} findings: none in {', '.join(item['id'] for item in found['looked_at'])}")
    for item in found["looked_at"]:
        if item["figure"]:
            click.echo(f"{'figure':<8} {item['id']}: {output.clean(item['figure'])}")
    for item in found["not_looked_at"]:
        reason = output.clean(item["reason"])
        click.echo(f"{'unknown':<8} {item['id']} ({item['what']}): not looked at, because {reason}")


def _number(number: Json) -> str:
    limit = "" if number["threshold_shown"] is None else f" (threshold {number['threshold_shown']})"
    return f"{number['name']} {number['shown']}{limit}"


def _remedy(remedy: Json) -> str:
    cost = f" Cost: {remedy['cost']}" if remedy["cost"] else ""
    setting = f" [{remedy['setting']}={remedy['value']}]" if remedy["setting"] else ""
    return f"{output.clean(remedy['text'])}{setting}{cost}"


def show_health(answer: Json) -> None:
    click.echo(
        f"Weir {answer['version']} on {answer['hostname'] or '?'}, kernel {answer['kernel'] or '?'}, "
        f"{_configuration(answer)}."
    )
    for check in answer["checks"]:
        state = click.style(f"{check['state']:<8}", fg=_COLOURS[check["state"]])
        click.echo(f"{state} {check['id']}: {output.clean(check['message'])}")
    for item in answer["capabilities"]:
        if not item["available"]:
            click.echo(f"{'missing':<8} {item['id']}: {output.clean(item['reason'] or '')}")


def _configuration(answer: Json) -> str:
    if answer["queue_count"] is None:
        return "configuration not readable"
    return f"revision {answer['revision']}, {output.counted(answer['queue_count'], 'queue')}"


def register(main: click.Group) -> None:
    main.add_command(doctor)
