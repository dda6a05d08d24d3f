# SPDX-License-Identifier: Apache-2.0
"""`make image-life`: the life of a router that was built by `make image`, on emulated machines.

    python -m lab.image_life [--port PORT] [--only STEP,...] [--resume]

First start and setup, an update by REST, the way back from one whose API never answers, the console, resets,
and the way from a stick onto other disks: each on the image's own disk, through its own boot loader. It takes
most of an hour on two processors; build/image-life has what the console said.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab import appliance, plan
from lab.image_machine import OVMF, PROMPT, Disk, Machine, Rest
from lab.netns import LabError

FOLDER = plan.BUILD / "image-life"
PASSWORD = "correct horse battery"
LIMITS = {"upload": 5_000_000, "download": 30_000_000}
QUEUE = {"name": "kept", "target": ["10.9.8.0/24"], "max_limit_bps": LIMITS}
START_WITHIN_S = 900.0
LEFT_WITHIN_S = 5400.0
STARTS = 3
"""So often GRUB tries a slot (board/image/grub.cfg)."""
DISK_BYTES = 4 << 30
SMALL_BYTES = 1 << 30
"""Of a disk that has no room for two slots and what lasts."""


class Life:
    """One router's disk, and what happens to it in this order."""

    def __init__(self, image: Path, bundle: Path, port: int) -> None:
        self._bundle = bundle
        self._image = image
        efi = (OVMF / "OVMF_CODE_4M.fd").exists()
        if not efi:
            say("no OVMF: started by BIOS only")
        self._machine = Machine(FOLDER, port, efi=efi)
        self._bios = Machine(FOLDER, port, efi=False)
        self._rest = Rest(port)
        self.log = self._machine.log
        self._disk = Disk(FOLDER / "router.qcow2")

    def steps(self) -> dict[str, Callable[[], None]]:
        return {
            "setup": self.setup,
            "update": self.update,
            "fallback": self.fallback,
            "console": self.console,
            "keep": lambda: self.reset("keep"),
            "wipe": lambda: self.reset("wipe"),
            "virtio": lambda: self.install("virtio"),
            "ahci": lambda: self.install("ahci"),
        }

    def setup(self) -> None:
        overlay(self._image, self._disk.path)
        began = time.monotonic()
        self._machine.switch_on([self._disk])
        told = self._up(lambda told: told["needed"] and told["lan"] is not None)
        say(f"the first setup answers over HTTPS after {time.monotonic() - began:.0f} s: {told['lan']}")
        page = self._rest.answers("/")
        if page is None or b"<html" not in page:
            raise LabError("the page of the first setup does not answer")
        self._rest.need("POST", "/api/v1/setup", {"password": PASSWORD, "time_zone": "Europe/Berlin"}, 120.0)
        self._signed_in()
        self._rest.need("PUT", "/api/v1/queues/kept", QUEUE)
        system = self._machine.wait(self._well, 300.0, "health ok")
        say(f"signed in; health {system['health']}, kernel {system['kernel']}")

    def resume(self) -> None:
        self._machine.switch_on([self._disk])
        self._up(lambda told: not told["needed"])
        self._signed_in()

    def update(self) -> None:
        before = self._rest.need("GET", "/api/v1/system/update")["booted"]
        self._install_bundle(self._bundle)
        self._rest.need("POST", "/api/v1/system/restart", {})
        after = self._machine.wait(lambda: self._runs_another_than(before), START_WITHIN_S, "the other slot")
        self._same_configuration()
        slots = self._machine.wait(self._both_good, 400.0, "the new slot to be called good")
        say(f"after the update slot {after} runs and was found good ({slots}); configuration kept")

    def fallback(self) -> None:
        before = self._rest.need("GET", "/api/v1/system/update")["booted"]
        broken = broken_bundle(self._bundle)
        self._install_bundle(broken)
        self._rest.need("POST", "/api/v1/system/power-off", {})
        self._machine.wait_for_its_end(120.0)
        other = "B" if before == "A" else "A"
        began = time.monotonic()
        self._machine.switch_on([self._disk], hurry=True)
        chosen = self._machine.expect(rf"Booting `Weir \(slot {before}\)'", LEFT_WITHIN_S)
        starts = starts_of(other, chosen.string[: chosen.end()])
        if starts != STARTS:
            raise LabError(f"slot {other} was started {starts} times before the way back")
        took_s = time.monotonic() - began
        say(f"slot {other}, whose API never answers, was left after {starts} starts ({took_s:.0f} s)")
        self._machine.switch_off()
        self._machine.switch_on([self._disk])
        self._up(lambda told: not told["needed"])
        self._same_configuration()
        booted = self._rest.need("GET", "/api/v1/system/update")["booted"]
        say(f"slot {booted} runs again; configuration intact")

    def console(self) -> None:
        self._machine.type("1")
        self._machine.expect(r"Slot: \w runs[\s\S]*Weir> ", 60.0)
        self._machine.type("2")
        self._machine.expect(r"Go on\? \(yes/no\)", 60.0)
        self._machine.type("yes")
        found = self._machine.expect(r"one-time password\n\n +(\S+)\n", 60.0)
        if (status := self._rest.sign_in(found[1])) != 200:
            raise LabError(f"the console's one-time password does not sign in: {status}")
        self._rest.need("POST", "/api/v1/auth/password", {"old_password": found[1], "new_password": PASSWORD})
        self._signed_in()
        self._machine.type("3")
        self._machine.expect(r"Which one is next", 60.0)
        self._machine.type("")
        self._machine.expect(PROMPT, 60.0)
        say("the console shows slot and health, resets the password, lists the slots")

    def reset(self, mode: str) -> None:
        self._rest.need("POST", "/api/v1/system/factory-reset", {"mode": mode})
        self._up(lambda told: told["needed"] and told["lan"] is not None)
        self._rest.need("POST", "/api/v1/setup", {"password": PASSWORD}, 120.0)
        self._signed_in()
        status, _ = self._rest.ask("GET", "/api/v1/queues/kept")
        if status != 404:
            raise LabError(f"after a reset ({mode}) the queue is still there: {status}")
        say(f"reset ({mode}): a new router that waits for its first setup, without the queue")

    def install(self, bus: str) -> None:
        self._machine.switch_off()
        stick, target = Disk(FOLDER / "stick.qcow2", "usb"), Disk(FOLDER / f"installed-{bus}.qcow2", bus)
        small = Disk(FOLDER / "small.qcow2", bus)
        overlay(self._image, stick.path)
        for disk, size_bytes in ((target, DISK_BYTES), (small, SMALL_BYTES)):
            run("qemu-img", "create", "-q", "-f", "qcow2", disk.path, str(size_bytes))
        self._machine.switch_on([stick, target, small])
        self._machine.expect(PROMPT, START_WITHIN_S)
        self._choose_disk(SMALL_BYTES)
        refused = self._machine.expect(rf"weir-install: (.*)\n[\s\S]*{PROMPT}", 60.0)[1]
        if "too small" not in refused:
            raise LabError(f"a disk that is too small is refused with: {refused}")
        name = self._choose_disk(DISK_BYTES)
        self._machine.expect(rf"will be erased:\n{name}: .*[\s\S]*Type its name \({name}\) to go on", 60.0)
        self._machine.type(name)
        began = time.monotonic()
        self._machine.expect(rf"writing the boot code\n[\s\S]*{PROMPT}", 900.0)
        say(f"installed onto {name} ({bus}) in {time.monotonic() - began:.0f} s; refused before: {refused}")
        self._machine.switch_off()
        for machine, firmware in ((self._machine, "as before"), (self._bios, "by BIOS")):
            machine.switch_on([target])
            self._up(lambda told: told["needed"] and told["lan"] is not None, machine)
            machine.switch_off()
            say(f"{name} starts {firmware} up to the first setup")

    def _choose_disk(self, size_bytes: int) -> str:
        """Its name, from the list that the installer shows."""
        self._machine.type("8")
        shown = rf"\n(\w+): .*, {size_bytes >> 20} MiB\n[\s\S]*Onto which disk\? "
        name = self._machine.expect(shown, 120.0)[1]
        self._machine.type(name)
        return name

    def end(self) -> None:
        self._machine.switch_off()
        self._bios.switch_off()

    # -- what the steps share ----------------------------------------------------------------------------

    def _up(self, ready: Callable[[Any], bool], machine: Machine | None = None) -> Any:
        def ask() -> Any | None:
            told = self._rest.answers("/api/v1/setup")
            return told if told is not None and ready(told) else None

        return (machine or self._machine).wait(
            ask, START_WITHIN_S, "the page of the first setup or of the sign-in"
        )

    def _signed_in(self) -> None:
        if (status := self._rest.sign_in(PASSWORD)) != 200:
            raise LabError(f"signing in answers {status}")

    def _well(self) -> Any | None:
        system = self._rest.answers("/api/v1/system")
        return system if system is not None and system["health"] == "ok" else None

    def _install_bundle(self, bundle: Path) -> None:
        self._signed_in()
        began = time.monotonic()
        with bundle.open("rb") as content:
            self._rest.need("POST", "/api/v1/system/update", content, 900.0)
        sent_s, seen = time.monotonic() - began, list[int]()

        def ended() -> Any | None:
            update = self._rest.answers("/api/v1/system/update")
            if update is None:
                return None
            seen.append(update["job"]["percent"])
            return update if update["job"]["state"] in ("installed", "failed") else None

        job = self._machine.wait(ended, 900.0, "the installation")["job"]
        if job["state"] != "installed":
            raise LabError(f"the update was not installed: {job['message']}")
        percents = ", ".join(str(percent) for percent in dict.fromkeys(seen))
        took_s = time.monotonic() - began - sent_s
        say(f"{bundle.name}: sent in {sent_s:.0f} s, installed in {took_s:.0f} s; percent: {percents}")

    def _runs_another_than(self, slot: str) -> str | None:
        update = self._rest.answers("/api/v1/system/update")
        if update is None:
            return None
        booted: str = update["booted"]
        return booted if booted != slot else None

    def _both_good(self) -> str | None:
        slots = self._rest.need("GET", "/api/v1/system/update")["slots"]
        found = ", ".join(f"{slot['name']} {slot['version']}" for slot in slots if slot["good"])
        return found if all(slot["good"] for slot in slots) else None

    def _same_configuration(self) -> None:
        self._signed_in()
        queue = self._rest.need("GET", "/api/v1/queues/kept")
        if queue["target"] != QUEUE["target"] or queue["max_limit_bps"] != QUEUE["max_limit_bps"]:
            raise LabError(f"the queue is another one now: {queue}")


def starts_of(slot: str, heard: str) -> int:
    """How often GRUB took a slot; it says so once to each of its terminals, which may be one line twice."""
    return len(re.findall(rf"(?:Booting `Weir \(slot {slot}\)'\s*)+", heard))


def broken_bundle(bundle: Path) -> Path:
    """The same system, signed as it was, but for an API that ends at once."""
    out, root = FOLDER / "weir-broken.raucb", FOLDER / "broken"
    if out.exists() and out.stat().st_mtime_ns > bundle.stat().st_mtime_ns:
        return out
    out.unlink(missing_ok=True)
    for folder in (root, FOLDER / "system"):
        shutil.rmtree(folder, ignore_errors=True)
    run("unsquashfs", "-quiet", "-no-progress", "-dest", root, bundle)
    system = root / "rootfs.squashfs"
    run("unsquashfs", "-quiet", "-no-progress", "-dest", FOLDER / "system", system)
    wrong = FOLDER / "system/etc/systemd/system/weir-api.service.d/broken.conf"
    wrong.parent.mkdir(parents=True)
    wrong.write_text("[Service]\nExecStart=\nExecStart=/bin/false\n")
    packing = ("-comp", "zstd", "-Xcompression-level", "1", "-noappend", "-quiet", "-no-progress")
    run("mksquashfs", FOLDER / "system", system, *packing)
    keys = plan.BUILD / "keys"
    run("rauc", "bundle", f"--cert={keys / 'signer.pem'}", f"--key={keys / 'signer.key'}", root, out)
    return out


def overlay(image: Path, disk: Path) -> None:
    """What the machine writes goes beside the image; the data partition has room to grow into."""
    disk.unlink(missing_ok=True)
    kind = "qcow2" if image.suffix == ".qcow2" else "raw"
    run("qemu-img", "create", "-q", "-f", "qcow2", "-b", image.resolve(), "-F", kind, disk, str(DISK_BYTES))


def run(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{command[0]}: {done.stderr.strip() or done.stdout.strip()}")


def say(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {words}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="lab.image_life", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=plan.DEFAULT_PORT)
    parser.add_argument("--only", help="of the steps, in their order; setup comes before what needs a router")
    parser.add_argument("--resume", action="store_true", help="with the router that another run left")
    arguments = parser.parse_args()
    image = appliance.newest_image()
    bundles = sorted(appliance.IMAGES.glob("weir-*.raucb"), key=lambda path: path.stat().st_mtime_ns)
    if image is None or not bundles:
        sys.exit("image-life: there is no image with a bundle in build/images; `make image` builds one")
    FOLDER.mkdir(parents=True, exist_ok=True)
    life = Life(appliance.unpacked(image), bundles[-1], arguments.port)
    wanted = set(arguments.only.split(",") if arguments.only else life.steps())
    if wanted - {"virtio", "ahci"}:
        wanted.add("setup")
    try:
        if arguments.resume:
            wanted -= {"setup"}
            name = "resume"
            life.resume()
        for name, step in life.steps().items():
            if name in wanted:
                step()
    except LabError as error:
        sys.exit(f"image-life: {name}: {error} ({life.log})")
    finally:
        life.end()


if __name__ == "__main__":
    main()
