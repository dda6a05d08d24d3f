// SPDX-License-Identifier: Apache-2.0
import { http, HttpResponse, type HttpHandler } from "msw";
import type { Setup, SetupPlan, SetupWishes } from "@/api/types";
import type { MockState } from "./state";

const API = "*/api/v1";
const DONE: Setup = { needed: false, reason: null, lan: null, ports: [], presets: [] };

export const FRESH: Setup = {
  needed: true,
  reason: null,
  lan: { interface: "enp1s0", address: "192.168.88.1/24" },
  ports: [
    { id: "enp1s0", mac: "02:00:00:00:00:01", carrier: true, speed_bps: 1e9 },
    { id: "enp2s0", mac: "02:00:00:00:00:02", carrier: false, speed_bps: null },
  ],
  presets: [],
};

/** As FRESH, with a third port and what a router offers at once. */
export const OFFERING: Setup = {
  ...FRESH,
  ports: [...FRESH.ports, { id: "enp3s0", mac: "02:00:00:00:00:03", carrier: false, speed_bps: null }],
  presets: [
    {
      id: "home",
      name: "Home",
      about: "One network behind one internet connection.",
      lan: "Everybody inside, and this page.",
      ping_from_wan: false,
      second: null,
    },
    {
      id: "isp",
      name: "ISP",
      about: "Customers are apart from the management network.",
      lan: "The management network.",
      ping_from_wan: true,
      second: {
        zone: "customers",
        label: "Customers",
        about: "They reach the internet, and not this page.",
        address: "100.64.0.1/22",
        vlan_id: 100,
        unknown: "drop",
        from_lan: true,
      },
    },
  ],
};

/** What is done to the machine itself; `state.machine` tells what was asked of it. */
export function machineHandlers(state: MockState): HttpHandler[] {
  const asked = (what: string, answer: object) => {
    state.machine.push(what);
    return HttpResponse.json(answer, { status: 202 });
  };
  return [
    http.post(`${API}/system/restart`, () => asked("restart", { restarting: true })),
    http.post(`${API}/system/power-off`, () => asked("power-off", { powering_off: true })),
    http.post(`${API}/system/factory-reset`, async ({ request }) =>
      asked(`reset ${((await request.json()) as { mode: string }).mode}`, { restarting: true }),
    ),
  ];
}

/** A router that waits for its first account while `state.fresh` is set. */
export function setupHandlers(state: MockState): HttpHandler[] {
  return [
    http.get(`${API}/system/name`, () =>
      HttpResponse.json({ hostname: state.hostname ?? null, login_banner: state.banner ?? "" }),
    ),
    http.get(`${API}/setup`, () => HttpResponse.json(state.fresh ?? DONE)),
    http.post(`${API}/setup/plan`, async ({ request }) => {
      const plan = (await request.json()) as SetupPlan;
      const address = plan.preset.lan.addresses.join(", ");
      return HttpResponse.json({
        changes: [
          {
            kind: "interface",
            id: "br-lan",
            name: "br-lan",
            action: "add",
            fields: [{ field: "addresses", old: null, new: [address] }],
            old: null,
            new: {},
          },
        ],
        findings: [],
      });
    }),
    http.post(`${API}/setup`, async ({ request }) => {
      const wishes = (await request.json()) as SetupWishes;
      if (wishes.password === "too easy too")
        return HttpResponse.json(
          {
            type: "urn:weir:problem:weak-password",
            title: "Unprocessable",
            status: 422,
            detail: "the password is too easy to guess",
            code: "weak-password",
            path: "password",
            findings: [],
          },
          { status: 422 },
        );
      state.fresh = null;
      state.wishes = wishes;
      state.password = wishes.password;
      return HttpResponse.json({ username: "admin", revision: 2 }, { status: 201 });
    }),
  ];
}
