// SPDX-License-Identifier: Apache-2.0
import { capital, sentence } from "@/ui/format";
import type { Finding, ProblemDocument } from "./types";

/** Every failure of a request, in one shape: RFC 9457 as the API sends it, or no answer at all. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly path: string | null;
  readonly findings: readonly Finding[];
  readonly retryAfterS: number | null;

  constructor(
    document: Pick<ProblemDocument, "status" | "code" | "detail" | "path" | "findings">,
    retryAfterS: number | null = null,
  ) {
    super(sentence(document.detail));
    this.name = "ApiProblem";
    this.status = document.status;
    this.code = document.code;
    this.path = document.path;
    this.findings = document.findings;
    this.retryAfterS = retryAfterS;
  }
}

const isDocument = (body: unknown): body is ProblemDocument =>
  typeof body === "object" && body !== null && "detail" in body && "code" in body;

export function problemOf(body: unknown, response: Response): ApiProblem {
  const retry = Number(response.headers.get("Retry-After"));
  const retryAfterS = Number.isFinite(retry) && retry > 0 ? retry : null;
  if (isDocument(body))
    return new ApiProblem(
      { ...body, findings: Array.isArray(body.findings) ? body.findings : [] },
      retryAfterS,
    );
  const detail =
    response.status >= 500
      ? "The router's API is not running or is restarting. Nothing was changed; forwarding and shaping go on."
      : `The router answered ${response.status} ${response.statusText}.`;
  return new ApiProblem(
    { status: response.status, code: `http-${response.status}`, detail, path: null, findings: [] },
    retryAfterS,
  );
}

export const unreachable = (): ApiProblem =>
  new ApiProblem({
    status: 0,
    code: "unreachable",
    detail: "The router does not answer. Check the connection; forwarding and shaping do not depend on it.",
    path: null,
    findings: [],
  });

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem({
    status: 0,
    code: "unexpected",
    detail: error instanceof Error ? error.message : String(error),
    path: null,
    findings: [],
  });
}

/** `changes.0.new.addresses[1]` is the field `addresses` of the form, `servers[1].port` is `servers.1.port`. */
export const formField = (field: string): string =>
  field
    .replace(/^changes\.\d+\.new\./, "")
    .replace(/(\[\d+\]|\.\d+)+$/, "")
    .replace(/\[(\d+)\]/g, ".$1");

/** What is said at a field need not name the object and the field again. */
function atField(finding: Finding): string {
  const own = finding.message.startsWith(`${finding.kind} ${finding.id}: `)
    ? finding.message.slice(finding.kind.length + finding.id.length + 3)
    : finding.message;
  return capital(
    finding.field && own.startsWith(`${finding.field} `) ? own.slice(finding.field.length + 1) : own,
  );
}

/** `queue/q1/target` is a field of an object, `password` one of a body that is none. */
function fieldOf(path: string | null): string {
  const [first = "", ...rest] = path?.split("/") ?? [];
  return rest.length === 0 ? first : (rest[1] ?? "");
}

/** Messages by field of the object being edited; what belongs to no field, or to none of `fields`, is under "". */
export function messagesByField(problem: ApiProblem, fields?: readonly string[]): Record<string, string> {
  const messages: Record<string, string> = {};
  const put = (field: string, message: string) => {
    const shown = !fields || fields.includes(field.split(".", 1)[0] ?? "");
    const at = shown ? field : "";
    const said = messages[at];
    if (said === undefined) messages[at] = message;
    else if (!said.includes(message)) messages[at] = `${said} ${message}`;
  };
  for (const finding of problem.findings)
    if (finding.severity === "error") put(formField(finding.field ?? ""), atField(finding));
  if (Object.keys(messages).length === 0) put(formField(fieldOf(problem.path)), problem.message);
  return messages;
}

/** What the router refuses once it would refuse again. */
export const isRefused = (error: unknown): boolean =>
  error instanceof ApiProblem && error.status >= 400 && error.status < 500;

/** While the API is being loaded it signs people in, and answers strangers nothing else. */
export const isStarting = (error: unknown): boolean =>
  error instanceof ApiProblem && error.code === "starting";
