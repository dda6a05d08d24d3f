// SPDX-License-Identifier: Apache-2.0
import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import { meQuery, queryClient } from "@/api/queries";
import { setSession } from "@/api/session";
import { keyAnswer } from "@/api/webauthn";
import { Note } from "@/ui/blocks";

type Asked = "code" | "key" | null;
const ASKED: Record<string, Asked> = { "code-needed": "code", "key-needed": "key" };

/** Signs in with the password, and where the account asks for it with a code, or with what a security key answers. */
function useSignIn(username: string, password: string, code: string, onDone: () => void) {
  const [asked, setAsked] = useState<Asked>(null);
  const signIn = useMutation({
    mutationFn: async (by: "code" | "key") => {
      const proved = { username, password };
      const second =
        by === "code"
          ? { code }
          : { key: await keyAnswer(await need(api.POST("/api/v1/auth/sign-in/key", { body: proved }))) };
      return need(api.POST("/api/v1/auth/sign-in", { body: { ...proved, ...second } }));
    },
    onSuccess: async (answer) => {
      await queryClient.query({ ...meQuery, staleTime: 0 });
      setSession("in", answer.csrf_token);
      onDone();
    },
    onError: (error) => {
      const found = ASKED[asProblem(error).code];
      if (!found) return;
      setAsked(found);
      if (found === "key") signIn.mutate("key");
    },
    meta: { inline: true },
  });
  const problem = signIn.error ? asProblem(signIn.error) : null;
  return {
    signIn,
    asked,
    forget: () => setAsked(null),
    problem: problem && ASKED[problem.code] ? null : problem,
  };
}

export function SignInForm({ username, onDone }: { username?: string; onDone: () => void }) {
  const [name, setName] = useState(username ?? "");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const { signIn, asked, forget, problem } = useSignIn(name, password, code, onDone);
  const byKey = asked === "key" && code === "";
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!signIn.isPending) signIn.mutate(byKey ? "key" : "code");
  };
  return (
    <form onSubmit={submit} className="stack">
      <TextInput
        size="sm"
        label="User name"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        required
        value={name}
        disabled={username !== undefined}
        description={username === undefined ? undefined : "The session that ended was of this account."}
        onChange={(event) => {
          setName(event.currentTarget.value);
          forget(); // whether another account needs one is not known
          setCode("");
        }}
        data-autofocus={username === undefined || undefined}
        autoFocus={username === undefined}
      />
      <PasswordInput
        size="sm"
        label="Password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        data-autofocus={username !== undefined || undefined}
      />
      {asked ? (
        <TextInput
          size="sm"
          label="Code"
          description={
            asked === "key"
              ? "Without a security key: a recovery code, or what the authenticator app shows."
              : "What the authenticator app shows now, or a recovery code."
          }
          autoComplete="one-time-code"
          autoCapitalize="none"
          spellCheck={false}
          required={asked === "code"}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          autoFocus={asked === "code"}
        />
      ) : null}
      {byKey && signIn.isPending ? (
        <Note severity="notice" live>
          Touch your security key, or confirm the passkey.
        </Note>
      ) : null}
      {problem ? (
        <Note severity="error" live>
          {problem.message}
          {problem.retryAfterS !== null && problem.status === 429
            ? ` Try again in ${problem.retryAfterS} s.`
            : null}
        </Note>
      ) : null}
      <Button type="submit" size="sm" variant="filled" loading={signIn.isPending}>
        {byKey ? "Use the security key" : "Sign in"}
      </Button>
    </form>
  );
}
