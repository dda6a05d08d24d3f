// SPDX-License-Identifier: Apache-2.0
import { http, HttpResponse, type HttpHandler } from "msw";
import { API, none, problem } from "./answers";
import { setupHandlers } from "./setup";
import type { MockState } from "./state";

const me = (state: MockState) => ({
  username: "admin",
  scope: "admin",
  via: "session",
  must_change_password: state.mustChange,
  csrf_token: "csrf",
});
const user = (state: MockState) => ({
  username: "admin",
  scope: "admin",
  disabled: false,
  must_change_password: state.mustChange,
  created_at: "2026-01-01T00:00:00Z",
  last_sign_in_at: null,
  second_factor_since: state.secondFactor,
  security_keys: state.keys.length,
});

function secondFactor(state: MockState): HttpHandler[] {
  const at = `${API}/auth/second-factor`;
  return [
    http.get(at, () =>
      HttpResponse.json({
        since: state.secondFactor,
        app: state.secondFactor !== null && state.keys.length === 0,
        recovery_codes_left: state.secondFactor ? 8 : 0,
      }),
    ),
    http.post(`${at}/offer`, () =>
      HttpResponse.json({ secret: "ABCDEFGH".repeat(4), uri: "otpauth://totp/x", qr_svg: "<svg/>" }),
    ),
    http.put(at, async ({ request }) => {
      const body = (await request.json()) as { password: string; code: string };
      if (body.password !== "secret")
        return problem(403, "wrong-password", "The password is wrong.", { path: "password" });
      if (body.code !== "123456")
        return problem(400, "wrong-code", "The code does not fit.", { path: "code" });
      state.secondFactor = "2026-01-01T00:00:00Z";
      return HttpResponse.json({ recovery_codes: ["aaaaa-bbbbb-ccccc-ddddd", "eeeee-fffff-ggggg-hhhhh"] });
    }),
    http.post(`${at}/remove`, () => {
      state.secondFactor = null;
      return none();
    }),
  ];
}

/** As the router does, but that no signature is looked at. */
function securityKeys(state: MockState): HttpHandler[] {
  const at = `${API}/auth/security-keys`;
  const find = (id: unknown) => state.keys.find((key) => key.id === id);
  return [
    http.get(at, () =>
      HttpResponse.json({
        items: state.keys,
        origin: state.keysNotOffered === null ? "https://tower-7.example.net" : null,
        not_offered: state.keysNotOffered,
      }),
    ),
    http.post(`${at}/offer`, async ({ request }) => {
      const { password } = (await request.json()) as { password: string };
      if (password !== "secret")
        return problem(403, "wrong-password", "The password is wrong.", { path: "password" });
      return HttpResponse.json({
        challenge: "AAEC",
        rp_id: "tower-7.example.net",
        user_handle: "AwQF",
        username: "admin",
        algorithms: [-7],
        excluded: [],
        timeout_ms: 120_000,
      });
    }),
    http.post(at, async ({ request }) => {
      const body = (await request.json()) as { name: string };
      state.keysSent.push(body);
      const key = {
        id: `k${state.keys.length + 1}`,
        name: body.name,
        origin: "https://tower-7.example.net",
        created_at: "2026-01-01T00:00:00Z",
        last_used_at: null,
      };
      const isFirst = state.secondFactor === null;
      state.keys.push(key);
      state.secondFactor ??= key.created_at;
      return HttpResponse.json(
        { key, recovery_codes: isFirst ? ["aaaaa-bbbbb-ccccc-ddddd"] : [] },
        { status: 201 },
      );
    }),
    http.patch(`${at}/:id`, async ({ params, request }) => {
      const key = find(params["id"]);
      if (!key) return problem(404, "not-found", "There is no such key.");
      key.name = ((await request.json()) as { name: string }).name;
      return HttpResponse.json(key);
    }),
    http.post(`${at}/:id/remove`, ({ params }) => {
      state.keys = state.keys.filter((key) => key.id !== params["id"]);
      if (state.keys.length === 0) state.secondFactor = null;
      return none();
    }),
    http.post(`${API}/auth/sign-in/key`, () =>
      HttpResponse.json({
        challenge: "AAEC",
        rp_id: "tower-7.example.net",
        credentials: ["AQID"],
        timeout_ms: 120_000,
      }),
    ),
  ];
}

export function auth(state: MockState): HttpHandler[] {
  return [
    ...setupHandlers(state),
    ...secondFactor(state),
    ...securityKeys(state),
    http.get(`${API}/auth/me`, () =>
      state.signedIn ? HttpResponse.json(me(state)) : problem(401, "unauthenticated", "Sign in first."),
    ),
    http.post(`${API}/auth/sign-in`, async ({ request }) => {
      const body = (await request.json()) as { password: string; code?: string; key?: object };
      if (body.password !== (state.password ?? "secret"))
        return problem(401, "unauthenticated", "User name or password is wrong.");
      if (body.key) state.keysSent.push(body.key);
      else if (state.secondFactor !== null && !body.code)
        return problem(401, state.keys.length > 0 ? "key-needed" : "code-needed", "This account needs more.");
      else if (state.secondFactor !== null && body.code !== "123456")
        return problem(401, "wrong-code", "The code is wrong.");
      state.signedIn = true;
      return HttpResponse.json({
        user: user(state),
        must_change_password: state.mustChange,
        csrf_token: "csrf",
      });
    }),
    http.post(`${API}/auth/password`, () => {
      state.mustChange = false;
      return none();
    }),
    http.post(`${API}/auth/sign-out`, () => {
      state.signedIn = false;
      return none();
    }),
    http.get(`${API}/auth/sessions`, () =>
      HttpResponse.json({
        items: [
          {
            id: "s1",
            current: true,
            created_at: "2026-01-01T00:00:00Z",
            last_seen_at: null,
            expires_at: null,
            source: "127.0.0.1",
            user_agent: "Test",
          },
        ],
      }),
    ),
    http.all(`${API}/*`, () =>
      state.signedIn ? undefined : problem(401, "unauthenticated", "Your session has ended."),
    ),
  ];
}
