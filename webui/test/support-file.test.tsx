// SPDX-License-Identifier: Apache-2.0
import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const LINK = { name: "Download a support file" };

describe("a support file", () => {
  it("is a link for administrators", async () => {
    renderAt("/diagnostics");
    const link = await screen.findByRole("link", LINK);
    expect(link.getAttribute("href")).toBe("/api/v1/diagnosis/support-file");
  });

  it("is nothing for others, to whom the router would refuse it", async () => {
    const who = { username: "eve", via: "session", must_change_password: false, csrf_token: "csrf" };
    router.server.use(http.get("*/api/v1/auth/me", () => HttpResponse.json({ ...who, scope: "write" })));
    renderAt("/diagnostics");
    await screen.findByText("over its limit");
    expect(screen.queryByRole("link", LINK)).toBeNull();
  });
});
