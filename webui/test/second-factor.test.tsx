// SPDX-License-Identifier: Apache-2.0
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

const signIn = () => screen.getByRole("button", { name: "Sign in" });

describe("signing in to an account with a second factor", () => {
  it("asks for the code after the password, and says when it is wrong", async () => {
    router.state.signedIn = false;
    router.state.secondFactor = "2026-01-01T00:00:00Z";
    const user = userEvent.setup();
    renderAt("/sign-in");
    await user.type(await screen.findByLabelText(/User name/), "admin");
    expect(screen.queryByLabelText(/Code/)).toBeNull();
    await user.type(screen.getByLabelText(/Password/), "secret");
    await user.click(signIn());
    const code = await screen.findByLabelText(/Code/);
    expect(document.activeElement).toBe(code);
    expect(screen.queryByRole("alert")).toBeNull();
    await user.type(code, "000000");
    await user.click(signIn());
    expect(await screen.findByText("The code is wrong.")).toBeTruthy();
    await user.clear(code);
    await user.type(code, "123456{Enter}");
    expect(await screen.findByRole("heading", { name: "Overview" })).toBeTruthy();
  });
});

describe("another name", () => {
  it("is not asked for the code of the one before", async () => {
    router.state.signedIn = false;
    router.state.secondFactor = "2026-01-01T00:00:00Z";
    const user = userEvent.setup();
    renderAt("/sign-in");
    const name = await screen.findByLabelText(/User name/);
    await user.type(name, "admin");
    await user.type(screen.getByLabelText(/Password/), "secret");
    await user.click(signIn());
    await screen.findByLabelText(/Code/);
    await user.type(name, "2");
    expect(screen.queryByLabelText(/Code/)).toBeNull();
  });
});

describe("the account page", () => {
  it("sets a second factor up with the code of the app, and shows the recovery codes once", async () => {
    const user = userEvent.setup();
    renderAt("/account");
    await user.click(await screen.findByRole("button", { name: "Set up an authenticator app" }));
    const section = within(
      (await screen.findByRole("img", { name: "QR code of the key" })).closest("section")!,
    );
    expect(section.getByText("ABCD EFGH ABCD EFGH ABCD EFGH ABCD EFGH")).toBeTruthy();
    const code = section.getByLabelText(/Code/);
    await user.type(code, "999 999");
    await user.type(section.getByLabelText(/Your password/), "secret");
    const begin = section.getByRole("button", { name: "Ask for a code from now on" });
    await user.click(begin);
    expect(await section.findByText("The code does not fit.")).toBeTruthy();
    await user.clear(code);
    await user.type(code, "123 456");
    await user.click(begin);
    const codes = within(await screen.findByRole("list", { name: "Recovery codes" })).getAllByRole(
      "listitem",
    );
    expect(codes.map((item) => item.textContent)).toEqual([
      "aaaaa-bbbbb-ccccc-ddddd",
      "eeeee-fffff-ggggg-hhhhh",
    ]);
    await user.click(screen.getByRole("button", { name: "I have kept them" }));
    expect(await screen.findByText(/8 recovery codes are left/)).toBeTruthy();
    expect(screen.queryByText("aaaaa-bbbbb-ccccc-ddddd")).toBeNull();
  });

  it("removes it with the password", async () => {
    router.state.secondFactor = "2026-01-01T00:00:00Z";
    const user = userEvent.setup();
    renderAt("/account");
    await user.type(await screen.findByLabelText(/Your password/), "secret");
    await user.click(screen.getByRole("button", { name: "Remove the app" }));
    expect(await screen.findByRole("button", { name: "Set up an authenticator app" })).toBeTruthy();
  });
});
