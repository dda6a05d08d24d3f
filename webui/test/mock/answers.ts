// SPDX-License-Identifier: Apache-2.0
import { HttpResponse } from "msw";

export const API = "*/api/v1";
export const now = (): number => Math.floor(Date.now() / 1000);
export const none = () => new HttpResponse(null, { status: 204 });

export const problem = (status: number, code: string, detail: string, more: object = {}) =>
  HttpResponse.json(
    {
      type: `urn:weir:problem:${code}`,
      title: code,
      status,
      detail,
      code,
      path: null,
      findings: [],
      ...more,
    },
    { status, headers: { "Content-Type": "application/problem+json" } },
  );
