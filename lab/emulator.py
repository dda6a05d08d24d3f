# SPDX-License-Identifier: Apache-2.0
"""Run a command in a virtual machine with Linux 6.12, seeing this machine's files read-only under an overlay.

    lab/vm/run [options] COMMAND...

The command runs as root in the project's folder; its output appears here and its exit status is this
program's. What it writes is gone afterwards, except below build/vm/runs/<pid> ($WEIR_RUN in the guest).
Guest processors are emulated: good for function and for rates to about 100 Mbit/s, not for speed.

A guest that broke down (it died before it was up, its kernel stalled or met a breakpoint of its own, its
command fell silent) is started again, at most twice. A command that ended is never repeated, whatever its
status.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from lab import plan, ports, process
from lab.guest_output import Output, Status

VM = plan.BUILD / "vm"
GUEST_ADDRESS = "10.0.2.15"
DIED_EARLY = 125
TIMED_OUT = 124
STALLED = 123
SILENT = 122
PATCHED = 121
DIED = 1
LIVES = 3
STALL = "sysctl.kernel.panic_on_rcu_stall=1 rcupdate.rcu_cpu_stall_timeout=60"
"""For a guest whose clock counts instructions. Once in about ten long runs its kernel stops scheduling RCU's
thread although the processor is idle (QEMU 10, 6.12; cause not known), and whatever waits for RCU waits for
ever. Its own watchdog then ends it: 60 s of its time are 60 thousand million instructions."""
CAUSES = {
    DIED_EARLY: "it died before it was up",
    STALLED: "its kernel stalled",
    PATCHED: "its kernel met a breakpoint of its own",
    SILENT: "its command said nothing for too long",
    TIMED_OUT: "its time was over",
    DIED: "it ended before its command did",
}
AGAIN = {DIED_EARLY, STALLED, PATCHED, SILENT}
"""Ends that say nothing about the command. One whose time was over would take as long again."""
WATCH_S = 0.5
OFF_WITHIN_S = 60.0
"""From the end of the command until the guest is switched off."""
LAST_WORDS = {"Kernel panic - not syncing: RCU Stall": STALLED, "Oops: int3": PATCHED}
"""Of a kernel. Where it switches a branch of its code, a breakpoint stands there for a moment
(arch/x86/kernel/alternative.c); the emulator ran one that was gone already (seen once, QEMU 10, 6.12).
Nothing that the kernel is asked to do, programs of BPF neither, puts one there."""


def main() -> None:
    arguments = _arguments()
    for needed in ("kernel", "initramfs.gz"):
        if not (VM / needed).exists():
            sys.exit("lab/vm/run: the virtual machine is not ready; `make vm-image` makes it so")
    if arguments.kernel is not None and not arguments.kernel.exists():
        sys.exit(f"lab/vm/run: there is no kernel {arguments.kernel}; `make kernel` builds one")
    if arguments.plugin is not None and not arguments.plugin.exists():
        sys.exit(f"lab/vm/run: there is no plugin {arguments.plugin}; `make rig` builds the bench's")
    if shutil.which("qemu-system-x86_64") is None:
        sys.exit("lab/vm/run: qemu-system-x86_64 is missing; `make vm-image` installs it")
    if arguments.port is not None and not ports.port_is_free("127.0.0.1", arguments.port):
        sys.exit(f"lab/vm/run: port {arguments.port} is taken; choose another one with PORT=")
    run = VM / "runs" / str(os.getpid())
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(mode=0o700, parents=True)
    command = " ".join(shlex.quote(word) for word in arguments.command)
    plugin = f"export WEIR_PLUGIN={shlex.quote(arguments.plugin.name)}\n" if arguments.plugin else ""
    (run / "command").write_text(f"export WEIR_RUN={shlex.quote(str(run))}\n{plugin}{command}\n")
    try:
        code = live(run, arguments)
    finally:
        if arguments.keep is not None:
            shutil.copytree(run, arguments.keep, dirs_exist_ok=True)
        shutil.rmtree(run, ignore_errors=True)
    sys.exit(code)


@dataclass(frozen=True, slots=True)
class Life:
    """How a guest ended."""

    code: int
    """The command's status, or one of `CAUSES`."""
    cause: str | None
    """Why the command did not come to its end; None if it did."""
    named_failure: bool
    """The command's output had what `--failure` looks for."""

    @property
    def may_be_repeated(self) -> bool:
        return self.cause is not None and self.code in AGAIN and not self.named_failure


def live(run: Path, arguments: argparse.Namespace) -> int:
    """The status of the command, or of the last guest if none came to its end. Tells of each that did not."""
    for number in range(1, LIVES + 1):
        begun_s = time.monotonic()
        life = boot(run, arguments)
        lasted_s = time.monotonic() - begun_s
        if life.cause is None:
            break
        again = life.may_be_repeated and number < LIVES
        then = "trying once more" if again else "not tried again"
        if life.named_failure:
            then += ", as its command had named a failure"
        _tell(f"guest {number} of at most {LIVES} ended after {lasted_s:.0f} s: {life.cause}; {then}")
        print("\n".join(["    its console ended with:", *_last_words(run)]), file=sys.stderr)
        if not again:
            break
    if life.cause is None and arguments.silence is not None:
        _tell(f"guest {number} of at most {LIVES} did not break down and took {lasted_s:.0f} s")
    return life.code


def _tell(words: str) -> None:
    sys.stdout.flush()
    print(f"lab/vm/run: {words}", file=sys.stderr, flush=True)


def _last_words(run: Path) -> list[str]:
    return [
        line
        for log in ("qemu.log", "console.log")
        if (run / log).exists()
        for line in (run / log).read_text(errors="replace").splitlines()[-40:]
    ]


def boot(run: Path, arguments: argparse.Namespace) -> Life:
    output_read, output_write = os.pipe()
    status_read, status_write = os.pipe()
    qemu = subprocess.Popen(
        _qemu_command(run, arguments, output_write, status_write),
        stdin=subprocess.DEVNULL,
        stdout=(run / "qemu.log").open("wb"),
        stderr=subprocess.STDOUT,
        pass_fds=[output_write, status_write],
        start_new_session=True,
        preexec_fn=process.die_with_parent,
    )
    os.close(output_write)
    os.close(status_write)
    output, status = Output(output_read, arguments.failure), Status(status_read)
    output.start()
    status.start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: qemu.kill())
    ended = _await_end(qemu, output, status, arguments)
    output.join()
    status.join()
    if status.exit_code is not None:
        return Life(status.exit_code, None, output.named_failure)
    if ended is None:
        ended = _own_end(run, status, qemu.returncode)
    return Life(ended, CAUSES.get(ended), output.named_failure)


def _await_end(
    qemu: subprocess.Popen[bytes], output: Output, status: Status, arguments: argparse.Namespace
) -> int | None:
    """None when the guest ended by itself or its command did; TIMED_OUT or SILENT when it was ended here."""
    limits = (
        (output.silent_s, arguments.silence, SILENT),
        (status.lasted_s, arguments.timeout, TIMED_OUT),
        (status.off_for_s, OFF_WITHIN_S, None),
    )
    while True:
        try:
            qemu.wait(timeout=WATCH_S)
        except subprocess.TimeoutExpired:
            for seconds, limit_s, ended in limits:
                if limit_s is not None and seconds() > limit_s:
                    qemu.kill()
                    qemu.wait()
                    return ended
        else:
            return None


def _own_end(run: Path, status: Status, returned: int) -> int:
    """What ended a guest whose command did not come to its end; `returned` is the status of QEMU."""
    if returned == -signal.SIGKILL:
        return 130
    if not status.is_up:
        return DIED_EARLY
    said = "\n".join(_last_words(run))
    return next((end for words, end in LAST_WORDS.items() if words in said), DIED)


def _qemu_command(run: Path, arguments: argparse.Namespace, output: int, status: int) -> list[str]:
    kernel, words = _kernel(arguments.kernel)
    line = [
        "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable random.trust_cpu=on",
        f"weir.project={plan.ROOT} weir.run={run}",
        *words,
        *([STALL] if arguments.count_instructions else []),
        *arguments.append,
    ]
    command = ["qemu-system-x86_64", "-nodefaults", "-no-reboot", "-display", "none", "-machine", "q35"]
    command += _processors(arguments)
    command += ["-m", str(arguments.memory), "-kernel", str(kernel), "-initrd", str(VM / "initramfs.gz")]
    command += ["-serial", f"file:{run / 'console.log'}", "-device", "virtio-rng-pci"]
    command += ["-device", "virtio-serial-pci"]
    for name, descriptor in (("output", output), ("status", status)):
        command += ["-chardev", f"file,id={name},path=/proc/self/fd/{descriptor},append=on"]
        command += ["-device", f"virtserialport,chardev={name},name=weir.{name}"]
    for tag, folder, mode in (("host", "/", "readonly=on,"), ("run", str(run), "")):
        command += ["-fsdev", f"local,id={tag},path={folder},security_model=none,{mode}multidevs=remap"]
        command += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    if arguments.port is not None:
        forward = f"hostfwd=tcp:127.0.0.1:{arguments.port}-{GUEST_ADDRESS}:{arguments.port}"
        command += ["-netdev", f"user,id=net,restrict=on,{forward}", "-device", "virtio-net-pci,netdev=net"]
        line.append(f"weir.address={GUEST_ADDRESS}")
    for number, model in enumerate(arguments.nic):
        command += ["-netdev", f"user,id=nic{number},restrict=on", "-device", f"{model},netdev=nic{number}"]
    command += _disk(arguments.disk, arguments.disk_log)
    if arguments.plugin is not None:
        command += ["-plugin", f"{arguments.plugin},folder={run}"]
    return [*command, "-append", " ".join(line)]


def _disk(disk: Path | None, log: Path | None) -> list[str]:
    """/dev/vda, and each of its writes in a file as the kernel's dm-log-writes would make it."""
    if disk is None:
        return []
    words = ["-blockdev", f"driver=raw,node-name=disk,file.driver=file,file.filename={disk}"]
    if log is not None:
        log.touch()
        logged = f"driver=blklogwrites,node-name=logged,file=disk,log.driver=file,log.filename={log}"
        words += ["-blockdev", logged]
    return [*words, "-device", f"virtio-blk-pci,drive={'disk' if log is None else 'logged'}"]


def _kernel(own: Path | None) -> tuple[Path, list[str]]:
    """The kernel to boot, and what the initramfs must know of it."""
    if own is not None:
        return own, []
    release = next((VM / "kernel" / "lib" / "modules").iterdir()).name
    return VM / "kernel" / "boot" / f"vmlinuz-{release}", [f"weir.release={release}"]


def _processors(arguments: argparse.Namespace) -> list[str]:
    """Emulated ones; counting instructions takes a single one whose string instructions are loops."""
    if arguments.count_instructions:
        counting = ["-icount", "shift=0,sleep=off", "-accel", "tcg,thread=single", "-smp", "1"]
        return [*counting, "-cpu", f"{_cpu()},-erms,-fsrm"]
    return ["-accel", "tcg,thread=multi", "-cpu", _cpu(), "-smp", str(arguments.cpus)]


def _cpu() -> str:
    """QEMU 7 emulates cmpxchg16b wrongly, and kernels crash on it."""
    words = subprocess.run(
        ["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True
    ).stdout
    return "max,-cx16" if "version 7." in words else "max"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="lab/vm/run", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--port", type=int, help="forward 127.0.0.1:PORT to the same port of the guest")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--memory", default="3G")
    parser.add_argument("--kernel", type=Path, help="boot this kernel without modules instead of Debian's")
    parser.add_argument("--append", action="append", default=[], help="further words of its command line")
    parser.add_argument("--nic", action="append", default=[], help="a further network card: QEMU's model")
    parser.add_argument("--disk", type=Path, help="a disk: /dev/vda is this file")
    parser.add_argument("--disk-log", type=Path, help="write there what is written to the disk, in its order")
    parser.add_argument(
        "--count-instructions",
        action="store_true",
        help="one processor, whose clock counts instructions (1 ns each) and skips idle time",
    )
    parser.add_argument("--plugin", type=Path, help="a plugin of QEMU (10 or later): folder=$WEIR_RUN")
    parser.add_argument("--timeout", type=float, help="end the guest after so many seconds")
    parser.add_argument(
        "--silence",
        type=float,
        help="end it when its command says nothing for so many seconds, and try again",
    )
    parser.add_argument(
        "--failure",
        type=re.compile,
        help="a regular expression: a guest whose output it was found in is not tried again",
    )
    parser.add_argument(
        "--keep", type=Path, help="copy the run folder (console.log, results) there at the end"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if arguments.command[:1] == ["--"]:
        del arguments.command[0]
    if not arguments.command:
        parser.error("say which command to run")
    return arguments
