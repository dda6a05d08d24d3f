// SPDX-License-Identifier: Apache-2.0
import createClient from "openapi-fetch";
import { problemOf, unreachable } from "./problem";
import type { paths } from "./schema";
import { csrf, sessionRefused } from "./session";

const UNSAFE = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/** The one client. `baseUrl` is the page's own origin; the browser holds the session cookie. */
export const api = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: "same-origin",
  // Looked up at each call, so that tests may put their own in place.
  fetch: (request: Request) => globalThis.fetch(request),
});

api.use({
  onRequest({ request }) {
    const token = csrf();
    if (token && UNSAFE.has(request.method)) request.headers.set("X-CSRF-Token", token);
    return request;
  },
  onResponse({ request, response }) {
    if (response.status === 401 && !request.url.includes("/auth/sign-in")) sessionRefused();
    return response;
  },
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The data of an answer, or an `ApiProblem`: the only way the UI reads answers. */
export async function need<T>(call: Promise<Answer<T>>): Promise<NonNullable<T>> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (!answer.response.ok) throw problemOf(answer.error, answer.response);
  return (answer.data ?? {}) as NonNullable<T>;
}
