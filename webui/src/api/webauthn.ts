// SPDX-License-Identifier: Apache-2.0
/** What the browser and a security key do for us; bytes go to the router and come from it as base64url. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type SecurityKey = Schemas["SecurityKey"];

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));

const textOf = (data: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(data)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const named = (ids: readonly string[]): PublicKeyCredentialDescriptor[] =>
  ids.map((id) => ({ type: "public-key", id: bytesOf(id) }));

/** Whether this browser can speak with keys at all; where the page came without encryption it does not. */
export const hasKeys = (): boolean => "PublicKeyCredential" in globalThis;

/** The browser's reasons are for developers; these are for who stands before it. */
function reasonOf(error: unknown): Error {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "InvalidStateError") return new Error("This key is added already.");
  if (name === "NotAllowedError" || name === "AbortError")
    return new Error(
      "No key answered: it was cancelled or took too long, or the browser does not trust the router's certificate.",
    );
  if (name === "SecurityError")
    return new Error("The browser uses no security key at this address: open the router by its name.");
  return new Error(`The browser could not use the key: ${error instanceof Error ? error.message : name}`);
}

async function asked(credential: Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    const found = await credential;
    if (found) return found as PublicKeyCredential;
  } catch (error) {
    throw reasonOf(error);
  }
  throw new Error("No key answered.");
}

/** Has a key make a credential for the account. */
export async function makeKey(offer: Schemas["KeyOffer"]): Promise<Omit<Schemas["NewKeyInput"], "name">> {
  const made = await asked(
    navigator.credentials.create({
      publicKey: {
        challenge: bytesOf(offer.challenge),
        rp: { id: offer.rp_id, name: `Weir ${offer.rp_id}` },
        user: { id: bytesOf(offer.user_handle), name: offer.username, displayName: offer.username },
        pubKeyCredParams: offer.algorithms.map((alg) => ({ type: "public-key", alg })),
        excludeCredentials: named(offer.excluded),
        authenticatorSelection: { residentKey: "discouraged", userVerification: "discouraged" },
        attestation: "none",
        timeout: offer.timeout_ms,
      },
    }),
  );
  const response = made.response as AuthenticatorAttestationResponse;
  const key = response.getPublicKey();
  if (!key) throw new Error("The browser does not know the key's kind.");
  return {
    credential_id: textOf(made.rawId),
    public_key: textOf(key),
    algorithm: response.getPublicKeyAlgorithm(),
    client_data: textOf(response.clientDataJSON),
    authenticator_data: textOf(response.getAuthenticatorData()),
  };
}

/** Has one of the account's keys answer. */
export async function keyAnswer(request: Schemas["KeyRequest"]): Promise<Schemas["KeyAnswerInput"]> {
  const found = await asked(
    navigator.credentials.get({
      publicKey: {
        challenge: bytesOf(request.challenge),
        rpId: request.rp_id,
        allowCredentials: named(request.credentials),
        userVerification: "discouraged",
        timeout: request.timeout_ms,
      },
    }),
  );
  const response = found.response as AuthenticatorAssertionResponse;
  return {
    credential_id: textOf(found.rawId),
    client_data: textOf(response.clientDataJSON),
    authenticator_data: textOf(response.authenticatorData),
    signature: textOf(response.signature),
  };
}
