// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { FRESH, OFFERING } from "./mock/setup";
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
  return {
    user,
    type,
    passwords,
    finish: () => user.click(screen.getByRole("button", { name: "Set up the router" })),
  };
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
    await user.selectOptions(screen.getByLabelText(/The provider gives/), "static");
    await type(/WAN address/, "198.51.100.2/30");
    await type(/Gateway/, "198.51.100.1");
    await finish();
    await waitFor(() => expect(router.state.wishes).not.toBeUndefined());
    expect(router.state.wishes).toMatchObject({
      lan: { interface: "enp1s0", addresses: ["10.1.0.1/24"] },
      wan: { interface: "enp2s0", addresses: ["198.51.100.2/30"], gateways: ["198.51.100.1"] },
    });
  });

  it("asks the provider for the address of a WAN unless told otherwise", async () => {
    const { user, passwords, finish } = begin();
    await passwords(PASSWORD);
    await user.selectOptions(screen.getByLabelText(/WAN port/), "enp2s0");
    expect(screen.queryByLabelText(/WAN address/)).toBeNull();
    await finish();
    await waitFor(() => expect(router.state.wishes).not.toBeUndefined());
    expect(router.state.wishes).toMatchObject({
      wan: { interface: "enp2s0", addressing: "dhcp", addresses: [], gateways: [] },
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
    expect(screen.getByRole("alert").textContent).toMatch(/remark at its field/);
  });

  it("shows a refused address at its field, and no more once it is typed again", async () => {
    const { user, type, passwords, finish } = begin();
    router.server.use(
      http.post("*/api/v1/setup", () =>
        HttpResponse.json(
          {
            type: "x",
            title: "x",
            status: 422,
            code: "bad-prefix",
            detail: "interface enp2s0: addresses[0] 'ten' needs a prefix length",
            path: "interface/enp2s0/addresses[0]",
            findings: [
              {
                severity: "error",
                code: "bad-prefix",
                message: "interface enp2s0: addresses[0] 'ten' needs a prefix length",
                kind: "interface",
                id: "enp2s0",
                field: "addresses[0]",
              },
            ],
          },
          { status: 422 },
        ),
      ),
    );
    await passwords(PASSWORD);
    await user.selectOptions(screen.getByLabelText(/WAN port/), "enp2s0");
    await user.selectOptions(screen.getByLabelText(/The provider gives/), "static");
    await type(/WAN address/, "ten");
    await finish();
    const said = await screen.findByText("'ten' needs a prefix length");
    expect(screen.getByLabelText(/WAN address/).getAttribute("aria-describedby")).toContain(said.id);
    await type(/WAN address/, "198.51.100.2/30");
    expect(screen.queryByText("'ten' needs a prefix length")).toBeNull();
  });

  it("says where the router went when its answer did not come over the address that it left", async () => {
    const { type, passwords, finish } = begin();
    router.server.use(http.post("*/api/v1/setup", () => HttpResponse.error()));
    await passwords(PASSWORD);
    await type(/LAN address/, "10.1.0.1/24");
    await finish();
    expect((await screen.findByRole("link", { name: "https://10.1.0.1/" })).getAttribute("href")).toBe(
      "https://10.1.0.1/",
    );
    expect(screen.queryByRole("button", { name: "Set up the router" })).toBeNull();
  });

  it("does not say that it moved where it was told to stay", async () => {
    const { passwords, finish } = begin();
    router.server.use(http.post("*/api/v1/setup", () => HttpResponse.error()));
    await passwords(PASSWORD);
    await finish();
    expect(await screen.findByText(/does not answer/)).toBeInstanceOf(HTMLElement);
    expect(screen.getByRole("button", { name: "Set up the router" })).toBeInstanceOf(HTMLElement);
  });

  it("says that there is no port", async () => {
    router.state.fresh = { ...FRESH, reason: "no network port was found", lan: null, ports: [] };
    begin();
    expect(await screen.findByText("no network port was found")).toBeInstanceOf(HTMLElement);
    expect(screen.queryByLabelText(/LAN port/)).toBeNull();
  });
});

const refusal = (...findings: { field: string; message: string }[]) =>
  HttpResponse.json(
    {
      type: "x",
      title: "x",
      status: 422,
      code: "invalid",
      detail: "two things cannot stay",
      path: findings[0]?.field ?? null,
      findings: findings.map((said) => ({
        severity: "error",
        code: "invalid",
        kind: "request",
        id: "",
        ...said,
      })),
    },
    { status: 422 },
  );

describe("presets", () => {
  it("home: what will be made is shown first, and every other port is of the LAN", async () => {
    router.state.fresh = OFFERING;
    const { type, passwords, finish } = begin();
    expect((await screen.findByRole<HTMLInputElement>("radio", { name: /Home/ })).checked).toBe(true);
    expect(await screen.findByText("br-lan")).toBeInstanceOf(HTMLElement);
    await type(/LAN address/, "10.7.0.1/24");
    expect(await screen.findByText("10.7.0.1/24", { selector: "ins" })).toBeInstanceOf(HTMLElement);
    await passwords(PASSWORD);
    await finish();
    await waitFor(() => expect(router.state.wishes).not.toBeUndefined());
    expect(router.state.wishes).toMatchObject({
      lan: null,
      preset: {
        id: "home",
        lan: { ports: ["enp1s0", "enp3s0"], addresses: ["10.7.0.1/24"] },
        second: null,
        unknown: null,
      },
      wan: { interface: "enp2s0", addressing: "dhcp" },
    });
  });

  it("isp: customers have a VLAN until a port is theirs, and one port only is the WAN", async () => {
    router.state.fresh = OFFERING;
    const { user, passwords, finish } = begin();
    await user.click(await screen.findByRole("radio", { name: /ISP/ }));
    expect(screen.getByLabelText<HTMLInputElement>(/Customers: VLAN/).value).toBe("100");
    await user.selectOptions(screen.getByLabelText(/^enp2s0/), "second");
    expect(screen.queryByLabelText(/Customers: VLAN/)).toBeNull();
    await user.selectOptions(screen.getByLabelText(/^enp3s0/), "wan");
    await passwords(PASSWORD);
    await finish();
    await waitFor(() => expect(router.state.wishes).not.toBeUndefined());
    expect(router.state.wishes).toMatchObject({
      preset: {
        id: "isp",
        lan: { ports: ["enp1s0"] },
        second: { ports: ["enp2s0"], addresses: ["100.64.0.1/22"], vlan_id: null },
        unknown: "drop",
      },
      wan: { interface: "enp3s0" },
    });
  });

  it("by hand is one of the choices, and leaves the ports as they are", async () => {
    router.state.fresh = OFFERING;
    const { user, passwords, finish } = begin();
    await user.click(await screen.findByRole("radio", { name: /By hand/ }));
    expect(screen.getByRole<HTMLInputElement>("radio", { name: /By hand/ }).checked).toBe(true);
    expect(screen.queryByText("What will be made")).toBeNull();
    await passwords(PASSWORD);
    await finish();
    await waitFor(() => expect(router.state.wishes).toMatchObject({ preset: null, lan: null, wan: null }));
  });

  it("says all that cannot stay at once, each at its field", async () => {
    router.state.fresh = OFFERING;
    router.server.use(
      http.post("*/api/v1/setup/plan", () =>
        refusal(
          { field: "preset.lan.ports", message: "choose at least one port for the LAN" },
          { field: "preset.lan.addresses", message: "'ten' needs a prefix length" },
        ),
      ),
    );
    begin();
    expect(await screen.findByText(/choose at least one port/)).toBeInstanceOf(HTMLElement);
    const said = screen.getByText("'ten' needs a prefix length.");
    expect(screen.getByLabelText(/LAN address/).getAttribute("aria-describedby")).toContain(said.id);
    expect(screen.getByText(/once the fields above are in order/)).toBeInstanceOf(HTMLElement);
  });

  it("what has no field here is said, and the plan is not called a matter of the fields", async () => {
    router.state.fresh = OFFERING;
    const detail = "the agent does not answer";
    router.server.use(
      http.post("*/api/v1/setup/plan", () =>
        HttpResponse.json({ status: 503, code: "agent-unreachable", detail }, { status: 503 }),
      ),
    );
    begin();
    expect(
      await screen.findByText(/What will be made is not known: The agent does not answer/),
    ).toBeInstanceOf(HTMLElement);
    expect(screen.queryByText(/once the fields above are in order/)).toBeNull();
  });

  it("offers none to a router with one port", async () => {
    router.state.fresh = { ...OFFERING, ports: OFFERING.ports.slice(0, 1) };
    begin();
    expect(await screen.findByText(/needs two ports/)).toBeInstanceOf(HTMLElement);
    expect(screen.getByRole<HTMLInputElement>("radio", { name: /Home/ }).disabled).toBe(true);
    expect(screen.getByRole<HTMLInputElement>("radio", { name: /By hand/ }).checked).toBe(true);
  });
});
