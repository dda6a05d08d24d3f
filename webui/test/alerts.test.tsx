// SPDX-License-Identifier: Apache-2.0
/** An alert target is tried from its form, and the answer is the server's. */
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

/** One target, and what a test of it answers. */
function target(answer: { delivered: boolean; answer: string }, disabled = false): { asked: number } {
  const seen = { asked: 0 };
  const object = {
    id: "noc",
    type: "mail",
    server: "mail.example.net",
    port: null,
    security: "starttls",
    username: "",
    password: null,
    sender: "router@example.net",
    recipients: ["noc@example.net"],
    url: null,
    header: "Authorization",
    token: null,
    comment: "",
    disabled,
    etag: "r7",
    warnings: [],
  };
  router.server.use(
    http.get("*/api/v1/alert-targets", () =>
      HttpResponse.json({ items: [object], states: null, next_cursor: null, total: 1 }),
    ),
    http.post("*/api/v1/alert-targets/noc/test", () => {
      seen.asked += 1;
      return HttpResponse.json({ ...answer, took_ms: 5 });
    }),
  );
  return seen;
}

const press = async () => userEvent.setup().click(await screen.findByText("Send a test message"));

describe("a test of an alert target", () => {
  it("says what the server answered", async () => {
    target({ delivered: true, answer: "250 2.0.0 Ok: queued" });
    renderAt("/alert-targets?edit=noc");
    await press();
    expect(
      (await screen.findByText(/Delivered: 250 2.0.0 Ok: queued/)).closest("[role=status]"),
    ).toBeTruthy();
  });

  it("says why it was not taken", async () => {
    target({ delivered: false, answer: "it answered 535 5.7.8 no" });
    renderAt("/alert-targets?edit=noc");
    await press();
    expect((await screen.findByRole("alert")).textContent).toContain(
      "Not delivered: it answered 535 5.7.8 no",
    );
  });

  it("is not sent to a disabled one, and says so", async () => {
    const seen = target({ delivered: true, answer: "" }, true);
    renderAt("/alert-targets?edit=noc");
    await press();
    expect(await screen.findAllByText(/nothing is sent to it/)).not.toHaveLength(0);
    expect(seen.asked).toBe(0);
  });
});
