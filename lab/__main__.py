# SPDX-License-Identifier: Apache-2.0
"""`python -m lab run|up|vm|down|screenshots`: what the make targets of these names call."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import asdict

from lab import appliance, lifecycle, machine, plan, screenshots
from lab.netns import LabError


def main() -> None:
    try:
        arguments = _parser().parse_args()
        arguments.command(arguments)
    except LabError as error:
        sys.exit(f"lab: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="start the lab and keep it until Ctrl-C")
    run.add_argument("--ready-fd", type=int, help=argparse.SUPPRESS)
    run.set_defaults(command=_run)
    up = commands.add_parser("up", help="start the lab in the background")
    up.set_defaults(command=_up)
    vm = commands.add_parser(
        "vm", help="the newest image, or the lab on the product's kernel, in a virtual machine"
    )
    vm.set_defaults(command=_vm, vm=True, ready_fd=None)
    pictures = commands.add_parser("screenshots", help="take pictures of every page of a lab of its own")
    pictures.set_defaults(command=_screenshots)
    for command in (run, up):
        command.add_argument("--vm", action="store_true", help="inside the virtual machine of lab/vm")
    for command in (run, up, vm, pictures):
        command.add_argument("--port", type=_port, default=plan.DEFAULT_PORT)
        command.add_argument("--address", default="127.0.0.1", help="where the API listens")
        command.add_argument("--url", help="how users reach it, when something forwards to it")
        command.add_argument("--no-traffic", action="store_true", help="no traffic of its own")
        command.add_argument("--no-queues", action="store_true", help="interfaces, routes and time only")
    down = commands.add_parser("down", help="remove the lab, also one that somebody else started")
    down.set_defaults(command=_down)
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) < 65_536):
        raise LabError(f"PORT={text} is not a port: a number from 1 to 65535")
    return int(text)


def _run(arguments: argparse.Namespace) -> None:
    _keep(arguments, machine.MachineLab if arguments.vm else lifecycle.Lab)


def _keep(arguments: argparse.Namespace, make: type[lifecycle.Lab]) -> None:
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: told.set() if started.is_set() else sys.exit("lab: stopped"))
    started = threading.Event()
    lab = make(_options(arguments), lambda words: print(words, flush=True))
    access = lab.start()
    started.set()
    try:
        if arguments.ready_fd is None:
            print(_welcome(access), flush=True)
        else:
            os.write(arguments.ready_fd, json.dumps(asdict(access)).encode())
            os.close(arguments.ready_fd)
        lab.keep_running(told.is_set)
    finally:
        if arguments.ready_fd is None:
            print("\nremoving the lab", flush=True)
        lab.stop()


def _vm(arguments: argparse.Namespace) -> None:
    image = appliance.newest_image()
    if image is not None:
        sys.exit(appliance.run(image, arguments.port))
    kernel = machine.own_kernel()
    what = "the product's kernel" if kernel else "Debian's kernel, as `make kernel` built none"
    print(f"no image in build/images: the working tree on {what}", flush=True)
    _keep(arguments, machine.ProductLab)


def _up(arguments: argparse.Namespace) -> None:
    """Start `run` in the background and wait until it says that it is ready."""
    lifecycle.require_root()
    reader, writer = os.pipe()
    plan.BUILD.mkdir(exist_ok=True)
    log = plan.BUILD / "lab.log"
    forwarded = [word for word in sys.argv[2:] if word]
    with log.open("wb") as output:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "lab", "run", *forwarded, "--ready-fd", str(writer)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=plan.ROOT,
            pass_fds=[writer],
            start_new_session=True,
        )
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    if not answer:
        daemon.wait()
        words = log.read_text(errors="replace").strip().splitlines()
        raise LabError(words[-1].removeprefix("lab: ") if words else "the lab ended without a word")
    print(_welcome(lifecycle.Access(**json.loads(answer)), ends="`make lab-down` removes everything"))


def _screenshots(arguments: argparse.Namespace) -> None:
    lab = lifecycle.Lab(_options(arguments))
    try:
        screenshots.take(lab.start())
    finally:
        lab.stop()


def _down(_: argparse.Namespace) -> None:
    print("the lab is removed" if lifecycle.take_down() else "there is no lab")


def _options(arguments: argparse.Namespace) -> lifecycle.Options:
    return lifecycle.Options(
        port=arguments.port,
        address=arguments.address,
        url=arguments.url,
        traffic=not arguments.no_traffic,
        queues=not arguments.no_queues,
    )


def _welcome(access: lifecycle.Access, ends: str = "Ctrl-C removes everything") -> str:
    return (
        f"Weir is running at {access.url}\n"
        f"  sign in as {access.username} with the one-time password {access.password}\n"
        f"  the lab is described in {plan.LAB_JSON.relative_to(plan.ROOT)}; {ends}"
    )


if __name__ == "__main__":
    main()
