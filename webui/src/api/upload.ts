// SPDX-License-Identifier: Apache-2.0
import { problemOf, unreachable } from "./problem";
import { csrf, sessionRefused } from "./session";

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/**
 * Sends a file as it is and tells how much of it has left, from 0 to 1: the one request that `fetch` cannot do.
 * Fails as every other request does, with an `ApiProblem`.
 */
export function sendFile<T>(path: string, file: File, onSent: (share: number) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", new URL(path, window.location.origin));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    const token = csrf();
    if (token) request.setRequestHeader("X-CSRF-Token", token);
    request.upload.onprogress = (event) =>
      onSent(event.lengthComputable && event.total > 0 ? event.loaded / event.total : 0);
    request.onerror = () => reject(unreachable());
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status === 401) sessionRefused();
      if (request.status >= 200 && request.status < 300) resolve(body as T);
      else
        reject(
          problemOf(body, new Response(null, { status: request.status, statusText: request.statusText })),
        );
    };
    request.send(file);
  });
}
