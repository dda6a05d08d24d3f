// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { FRESH } from "./mock/setup";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const PASSWORD = "correct horse battery";

function begin() {
  router.state.signedIn = false;
  router.state.fresh ??= FRESH;
  const user = userEvent.setup();
  renderAt("/sign-in?next=/about");
  const type = async (label: RegExp, text: string) => {
    const field = await screen.findByLabelText(label);
    await user.clear(field);
    await user.paste(text);
  };
  const passwords = async (text: string, again = text) => {
    await type(/^Password(?! again)/, text);
    await type(/^Password again/, again);
  };
  return { user, type, passwords, finish: () => user.click(screen.getByRole("button", { name: "Set up the router" })) };
}

describe("the first visit to a new router", () => {
  it("makes the account, signs in and leaves the ports as they are", async () => {
    const { passwords, finish } = begin();
    expect(await screen.findByText(/nobody has an account/)).toBeInstanceOf(HTMLElement);
    expect(screen.queryByLabelText(/User name/)).toBeNull();
    await passwords(PASSWORD);
    await finish();
    expect(await screen.findByRole("heading", { name: "About" })).toBeInstanceOf(HTMLElement);
    expect(router.state.wishes).toMatchObject({ password: PASSWORD, lan: null, wan: null });
  });

  it("sends ports only that were changed, and says where the router goes", async () => {
    const { user, type, passwords, finish } = begin();
    await passwords(PASSWORD);
    await type(/LAN address/, "10.1.0.1/24");
    expect(screen.getByText(/https:\/\/10\.1\.0\.1/)).toBeInstanceOf(HTMLElement);
    await user.selectOptions(screen.getByLabelText(/WAN port/), "enp2s0");
    await type(/WAN address/, "198.51.100.2/30");
    await type(/Gateway/, "198.51.100.1");
    await finish();
    await waitFor(() => expect(router.state.wishes).not.toBeUndefined());
    expect(router.state.wishes).toMatchObject({
      lan: { interface: "enp1s0", addresses: ["10.1.0.1/24"] },
      wan: { interface: "enp2s0", addresses: ["198.51.100.2/30"], gateways: ["198.51.100.1"] },
    });
  });

  it("shows what was refused, and sends nothing while the passwords differ", async () => {
    const { passwords, finish } = begin();
    await passwords(PASSWORD, "something else");
    await finish();
    expect(router.state.wishes).toBeUndefined();
    await passwords("too easy too");
    await finish();
    expect(await screen.findByText(/too easy to guess/)).toBeInstanceOf(HTMLElement);
  });

  it("says that there is no port", async () => {
    router.state.fresh = { ...FRESH, reason: "no network port was found", lan: null, ports: [] };
    begin();
    expect(await screen.findByText("no network port was found")).toBeInstanceOf(HTMLElement);
    expect(screen.queryByLabelText(/LAN port/)).toBeNull();
  });
});
