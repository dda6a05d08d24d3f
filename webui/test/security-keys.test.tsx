// SPDX-License-Identifier: Apache-2.0
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const bytes = (...numbers: number[]): ArrayBuffer => new Uint8Array(numbers).buffer;
const made = {
  rawId: bytes(1, 2, 3),
  response: {
    clientDataJSON: bytes(251, 255),
    getAuthenticatorData: () => bytes(4),
    getPublicKey: () => bytes(5),
    getPublicKeyAlgorithm: () => -7,
  },
};
const answered = {
  rawId: bytes(1, 2, 3),
  response: { clientDataJSON: bytes(251, 255), authenticatorData: bytes(4), signature: bytes(6) },
};
const create = vi.fn();
const get = vi.fn();

/** jsdom has no keys. */
beforeEach(() => {
  create.mockReset().mockResolvedValue(made);
  get.mockReset().mockResolvedValue(answered);
  vi.stubGlobal("PublicKeyCredential", {});
  Object.defineProperty(navigator, "credentials", { configurable: true, value: { create, get } });
});
afterEach(() => {
  vi.unstubAllGlobals();
  Reflect.deleteProperty(navigator, "credentials");
});

const BLUE = {
  id: "k1",
  name: "blue",
  origin: "https://tower-7.example.net",
  created_at: "2026-01-01T00:00:00Z",
  last_used_at: null,
};

function withKey(): void {
  router.state.secondFactor = BLUE.created_at;
  router.state.keys = [{ ...BLUE }];
}

async function typePassword(): Promise<ReturnType<typeof userEvent.setup>> {
  const user = userEvent.setup();
  router.state.signedIn = false;
  renderAt("/sign-in");
  await user.type(await screen.findByLabelText(/User name/), "admin");
  await user.type(screen.getByLabelText(/Password/), "secret{Enter}");
  return user;
}

describe("signing in to an account with a security key", () => {
  it("asks the key after the password, and sends what it answers", async () => {
    withKey();
    await typePassword();
    expect(await screen.findByRole("heading", { name: "Overview" })).toBeTruthy();
    const [{ publicKey }] = get.mock.calls[0] as [{ publicKey: PublicKeyCredentialRequestOptions }];
    expect(publicKey.rpId).toBe("tower-7.example.net");
    expect([...new Uint8Array(publicKey.challenge as ArrayBuffer)]).toEqual([0, 1, 2]);
    expect(router.state.keysSent).toEqual([
      { credential_id: "AQID", client_data: "-_8", authenticator_data: "BA", signature: "Bg" },
    ]);
  });

  it("says when no key answered, asks again by Enter, and takes a code instead", async () => {
    withKey();
    get.mockRejectedValue(new DOMException("no", "NotAllowedError"));
    const user = await typePassword();
    expect(await screen.findByText(/^No key answered/)).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Use the security key" }));
    expect(await screen.findByText(/^No key answered/)).toBeTruthy();
    expect(get).toHaveBeenCalledTimes(2);
    await user.type(screen.getByLabelText(/Code/), "123456{Enter}");
    expect(await screen.findByRole("heading", { name: "Overview" })).toBeTruthy();
  });
});

describe("the account page", () => {
  it("adds a key with the password, and shows the recovery codes once", async () => {
    const user = userEvent.setup();
    renderAt("/account");
    await user.type(await screen.findByLabelText(/Name of the key/), " blue ");
    const section = within(screen.getByLabelText(/Name of the key/).closest("section")!);
    const password = section.getByLabelText(/Your password/);
    await user.type(password, "wrong");
    await user.click(section.getByRole("button", { name: "Add a security key" }));
    expect(await section.findByText("The password is wrong.")).toBeTruthy();
    expect(create).not.toHaveBeenCalled();
    await user.clear(password);
    await user.type(password, "secret{Enter}");
    expect(await section.findByRole("list", { name: "Recovery codes" })).toBeTruthy();
    expect(router.state.keysSent).toEqual([
      {
        name: "blue",
        credential_id: "AQID",
        public_key: "BQ",
        algorithm: -7,
        client_data: "-_8",
        authenticator_data: "BA",
      },
    ]);
    await user.click(section.getByRole("button", { name: "I have kept them" }));
    expect(await screen.findByRole("row", { name: /blue/ })).toBeTruthy();
    expect(screen.getByText(/A security key is asked for after the password/)).toBeTruthy();
  });

  it("renames a key, and removes it with the password", async () => {
    withKey();
    const user = userEvent.setup();
    renderAt("/account");
    await user.click(await screen.findByRole("button", { name: "Rename blue" }));
    const name = within(await screen.findByRole("dialog")).getByLabelText(/Name of the key/);
    await user.clear(name);
    await user.type(name, "green{Enter}");
    await user.click(await screen.findByRole("button", { name: "Remove green" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(dialog.getByLabelText(/Your password/), "secret{Enter}");
    expect(await screen.findByText("The security key green was removed.")).toBeTruthy();
    expect(router.state.keys).toEqual([]);
  });

  it("says why no key can be added where the router has no name", async () => {
    router.state.keysNotOffered = "browsers use security keys with a name, not with the address 192.168.88.1";
    renderAt("/account");
    expect(await screen.findByText(/no key can be added: browsers use .* 192\.168\.88\.1\.$/)).toBeTruthy();
    expect(screen.queryByLabelText(/Name of the key/)).toBeNull();
  });
});
