# SPDX-License-Identifier: Apache-2.0
"""The menu on serial and VGA: one line in, some lines out; no terminal is too simple for it."""

from __future__ import annotations

import hashlib
from binascii import a2b_base64
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from weir.console.keyboard import Keyboard
from weir.console.router import Router, View
from weir.model.problem import Problem

_MODES: dict[str, Literal["keep", "wipe"]] = {"keep": "keep", "wipe": "wipe"}
SHOW = "1"
CHOICES = (
    (SHOW, "Show this again"),
    ("2", "Reset the password of admin"),
    ("3", "Choose the slot of the next start"),
    ("4", "Factory reset"),
    ("5", "Restart"),
    ("6", "Power off"),
    ("7", "Shell (administrators)"),
    ("8", "Install this system onto another disk"),
)


class Menu:
    """`shell` is for somebody who was admitted; `install` asks itself before it erases anything."""

    def __init__(
        self,
        keyboard: Keyboard,
        router: Router,
        certificate: Path,
        shell: Callable[[], None],
        install: Callable[[], None],
    ) -> None:
        self._ask = keyboard.ask
        self._router = router
        self._certificate = certificate
        self._shell = shell
        self._actions: dict[str, Callable[[], None]] = {
            SHOW: self._show,
            "2": self._reset_password,
            "3": self._choose_slot,
            "4": self._factory_reset,
            "5": self._restart,
            "6": self._power_off,
            "7": self._open_shell,
            "8": install,
        }

    def act(self, choice: str) -> None:
        """Do one of `CHOICES`; whatever is wrong with it is a sentence."""
        try:
            self._actions[choice]()
        except Problem as problem:
            print(f"Not done: {problem.message}")

    def _show(self) -> None:
        view = self._router.view()
        print("\n" + "\n".join(head(view, fingerprint(self._certificate))))
        print("\n" + "\n".join(f"  {number}  {text}" for number, text in CHOICES))

    def _reset_password(self) -> None:
        if self._agrees("Everybody who is signed in as admin is signed out, and their tokens end. Go on?"):
            password = self._router.actions.reset_password()
            print(
                f"Sign in as admin with the one-time password\n\n    {password}\n\nand choose your own then."
            )

    def _choose_slot(self) -> None:
        slots = self._router.slots()
        if not slots:
            print("This system does not run from an image with slots.")
            return
        for slot in slots:
            marks = [word for word, holds in (("runs", slot["booted"]), ("good", slot["good"])) if holds]
            print(f"  {slot['name']}  version {slot['version'] or '?'}  {', '.join(marks)}")
        name = self._ask("Which one is next (Enter: leave it)? ").upper()
        if name:
            self._router.actions.choose_slot(name)
            print(f"Slot {name} is next.")

    def _factory_reset(self) -> None:
        print("keep: logs stay; configuration and accounts are put aside on the data partition.")
        print("wipe: configuration, accounts, logs and keys are erased.")
        mode = self._ask("keep or wipe (Enter: neither)? ").lower()
        if mode in _MODES:
            self._reset(_MODES[mode])
        elif mode:
            print("Neither was done: type keep or wipe.")

    def _reset(self, mode: Literal["keep", "wipe"]) -> None:
        if self._agrees(f"The router restarts and is a new one afterwards ({mode}). Go on?"):
            self._router.actions.factory_reset(mode)
            print("The router restarts.")

    def _restart(self) -> None:
        if self._agrees("Forwarding stops until the router is up again. Go on?"):
            self._router.actions.restart()
            print("The router restarts.")

    def _power_off(self) -> None:
        if self._agrees("Forwarding stops. Go on?"):
            self._router.actions.power_off()
            print("The router switches off.")

    def _agrees(self, question: str) -> bool:
        if self._ask(f"{question} (yes/no) ").lower() == "yes":
            return True
        print("Nothing was done.")
        return False

    def _open_shell(self) -> None:
        username = self._ask("Administrator: ")
        password = self._ask("Password: ", hidden=True)
        if not self._router.actions.admit(username, password):
            print("This is a one-time password; choose your own.")
            new = self._ask("New password: ", hidden=True)
            if new != self._ask("Once more: ", hidden=True):
                print("Not done: they differ.")
                return
            self._router.actions.admit(username, password, new)
        self._shell()


def head(view: View, certificate: str) -> list[str]:
    lines = [*view.banner.splitlines(), ""] if view.banner else []
    lines += [f"Weir {view.version}{f' on {view.name}' if view.name else ''}", f"  Slot: {view.slot}"]
    lines += [f"  Address: {address}" for address in view.addresses] or ["  Address: none"]
    if certificate:
        lines += ["  Certificate (SHA-256):", f"    {certificate[:48]}", f"    {certificate[48:]}"]
    lines += [f"  NOT WELL: {sentence}" for sentence in view.wrong] or ["  Health: all is well"]
    if view.needs_setup:
        lines += ["", "  This router waits for its first setup: open its address in a browser (https)."]
    return lines


def fingerprint(certificate: Path) -> str:
    """As browsers show it, so that what they warn of can be compared; "" without one."""
    try:
        text = certificate.read_text(encoding="ascii")
        _, begun, rest = text.partition("-----BEGIN CERTIFICATE-----")
        found, ended, _ = rest.partition("-----END CERTIFICATE-----")
        if not (begun and ended):
            return ""
        digest = hashlib.sha256(a2b_base64(found)).hexdigest().upper()
    except (OSError, ValueError):
        return ""
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))
