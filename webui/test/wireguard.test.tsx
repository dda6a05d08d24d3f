// SPDX-License-Identifier: Apache-2.0
/** The configuration of a WireGuard client: made by the router, shown once. */
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const CONFIG = "[Interface]\nPrivateKey = AAAA\n";

/** One peer, with or without a key; the answer is how often its configuration was made, and on which version. */
function peer(publicKey: string | null): string[] {
  const made: string[] = [];
  const object = {
    id: "phone",
    interface: "wg0",
    public_key: publicKey,
    preshared_key: null,
    allowed_ips: ["10.9.0.2/32"],
    endpoint: null,
    keepalive_s: 0,
    route_allowed_ips: true,
    client: { addresses: ["10.9.0.2/32"], dns: [], endpoint: null, routes: [] },
    comment: "",
    disabled: false,
    etag: "r7",
    warnings: [],
  };
  router.server.use(
    http.get("*/api/v1/wireguard-peers", () =>
      HttpResponse.json({ items: [object], states: null, next_cursor: null, total: 1 }),
    ),
    http.post("*/api/v1/wireguard-peers/phone/client", ({ request }) => {
      made.push(request.headers.get("If-Match") ?? "");
      return HttpResponse.json({ config: CONFIG, qr_svg: "<svg xmlns='http://www.w3.org/2000/svg'/>" });
    }),
  );
  return made;
}

describe("a client", () => {
  it("is made on the version that is shown, and its configuration goes when it was kept", async () => {
    const user = userEvent.setup();
    const made = peer(null);
    renderAt("/peers?edit=phone");
    await user.click(await screen.findByRole("button", { name: "Make the configuration" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Configuration of phone" }));
    expect(dialog.getByText(/PrivateKey = AAAA/)).toBeTruthy();
    expect(dialog.getByRole("img", { name: "QR code of the configuration" }).getAttribute("src")).toMatch(
      /^data:image\/svg/,
    );
    await user.keyboard("{Escape}");
    expect(screen.getByText(/PrivateKey = AAAA/), "it does not go by accident").toBeTruthy();
    await user.click(dialog.getByRole("button", { name: "I have kept it" }));
    await waitFor(() => expect(screen.queryByText(/PrivateKey = AAAA/)).toBeNull());
    expect(made).toEqual(['"r7"']);
  });

  it("that has keys is asked about before they are worth nothing", async () => {
    const user = userEvent.setup();
    const made = peer("xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=");
    renderAt("/peers?edit=phone");
    await user.click(await screen.findByRole("button", { name: "Make it again" }));
    const question = within(await screen.findByRole("dialog", { name: "Make new keys?" }));
    expect(made).toEqual([]);
    await user.click(question.getByRole("button", { name: "Make new keys" }));
    await screen.findByText(/PrivateKey = AAAA/);
  });
});
