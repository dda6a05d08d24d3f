# SPDX-License-Identifier: Apache-2.0
"""`weir import` and `weir export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import click

from weir.cli import output
from weir.cli.client import LONG_TIMEOUT, segment
from weir.cli.group import CONFLICT, Command, Session, fail, pass_session

Json = dict[str, Any]
FORMATS = ("routeros", "libreqos", "csv")
SHOWN_LINES = 40


@click.command("import", cls=Command)
@click.argument("format_name", metavar="FORMAT", type=click.Choice(FORMATS))
@click.argument("files", nargs=-1, required=True, type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Only report what would happen.")
@click.option("--yes", "-y", is_flag=True, help="Commit without asking.")
@click.option("--candidate", is_flag=True, help="Put the changes into your candidate instead.")
@click.option("--replace", is_flag=True, help="Remove queues that the files do not name.")
@click.option(
    "--confirm-within", type=click.IntRange(1, 3600), metavar="SECONDS", help="Roll back unless confirmed."
)
@click.option("--message", "-m", default="", help="Why.")
@click.option("--all-lines", is_flag=True, help="Also list the lines that were imported as they are.")
@pass_session
def import_files(
    session: Session,
    format_name: str,
    files: tuple[BinaryIO, ...],
    dry_run: bool,
    yes: bool,
    candidate: bool,
    replace: bool,
    confirm_within: int | None,
    message: str,
    all_lines: bool,
) -> None:
    """Import FILES: RouterOS export, LibreQoS ShapedDevices.csv and network.json, or Weir's CSV.

    Every line's fate is reported first; nothing is written before it is confirmed.
    """
    client = session.client
    parts = [(Path(file.name).name, (Path(file.name).name, file.read())) for file in files]
    answer = client.write(
        "POST",
        f"/import/{format_name}",
        files=parts,
        params={"replace": "1"} if replace else {},
    )
    path = f"/import/reports/{segment(answer['id'])}"
    if dry_run:
        if session.json:
            answer["lines"] = list(client.pages(f"{path}/lines"))
            output.show_json(answer)
        else:
            show_report(session, answer, path, all_lines)
        client.write("DELETE", path)
        return
    if not session.json:
        show_report(session, answer, path, all_lines)
    if not answer["can_commit"]:
        click.echo(
            "There is nothing to commit." if not _counted(answer) else "It cannot be committed.", err=True
        )
        click.get_current_context().exit(CONFLICT if _counted(answer) else 0)
    if not yes and not candidate:
        _ask_to_commit(session)
    body = {"message": message, "confirm_within_s": confirm_within, "candidate": candidate}
    done = client.write("POST", f"{path}/commit", body)
    if session.json:
        output.show_json(done)
    elif candidate:
        output.staged(done)
    else:
        output.committed(done)


def _ask_to_commit(session: Session) -> None:
    """Ends the command unless the answer is yes; who reads JSON is no one to ask."""
    if session.json:
        fail("nothing was committed: with --json, --yes says that it should be", 2)
    try:
        click.confirm("Commit this?", abort=True)
    except click.Abort:
        click.echo("\nNothing was committed. Without a terminal, --yes says that it should be.", err=True)
        raise


def _counted(answer: Json) -> int:
    return sum(answer["counts"].values())


def show_report(session: Session, answer: Json, path: str, all_lines: bool) -> None:
    """Totals, then the lines that need a look."""
    summary, counts = answer["summary"], answer["counts"]
    of_files = [finding for finding in answer["findings"] if finding["kind"] == "file"]
    output.findings(of_files)
    click.echo(
        f"{summary['imported']} imported, {summary['changed']} changed, "
        f"{summary['warning']} with warnings, {summary['left_out']} left out."
    )
    click.echo(f"Objects: {counts['added']} added, {counts['changed']} changed, {counts['removed']} removed.")
    for kind in answer["kinds"]:
        said = [f"{kind[action]} {action}" for action in ("added", "changed", "removed") if kind[action]]
        click.echo(f"    {kind['kind']}: {', '.join(said)}")
    fates = ("left_out", "warning", "changed", *(("imported",) if all_lines else ()))
    for fate in fates:
        most = None if all_lines else SHOWN_LINES
        for line in session.client.pages(f"{path}/lines", most=most, fate=fate):
            colour = output.FATE_COLOURS[fate]
            where = f"{line['file']}:{line['line']}" if line["file"] else str(line["line"])
            label = click.style(fate.replace("_", " "), fg=colour)
            click.echo(f"{where}: {label}: {output.clean(line['reason'] or 'as it is')}")
            click.echo(f"    {output.clean(line['source'])}")
        left = 0 if all_lines else summary[fate] - SHOWN_LINES
        if left > 0:
            click.echo(f"... and {left} more; see --all-lines")
    output.findings(answer["findings"][len(of_files) :][:SHOWN_LINES])


@click.command("export", cls=Command)
@click.argument("format_name", metavar="FORMAT", type=click.Choice(("csv", "routeros")))
@click.option("--output", "-o", "target", type=click.Path(dir_okay=False, path_type=Path), help="A file.")
@pass_session
def export(session: Session, format_name: str, target: Path | None) -> None:
    """Export all queues as CSV, or the configuration as a RouterOS script.

    What RouterOS has no words for is named in the script, with the reason.
    """
    response = session.client.send("GET", f"/export/{format_name}", timeout=LONG_TIMEOUT)
    if target is None:
        click.echo(response.text, nl=False)
    else:
        target.write_bytes(response.content)
        click.echo(f"Wrote {target}.", err=True)


def register(main: click.Group) -> None:
    main.add_command(import_files)
    main.add_command(export)
