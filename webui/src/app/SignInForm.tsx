// SPDX-License-Identifier: Apache-2.0
import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import { meQuery, queryClient } from "@/api/queries";
import { setSession } from "@/api/session";
import { Note } from "@/ui/blocks";

export function SignInForm({ username, onDone }: { username?: string; onDone: () => void }) {
  const [name, setName] = useState(username ?? "");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [asked, setAsked] = useState(false);
  const signIn = useMutation({
    mutationFn: () => need(api.POST("/api/v1/auth/sign-in", { body: { username: name, password, code } })),
    onSuccess: async (answer) => {
      await queryClient.query({ ...meQuery, staleTime: 0 });
      setSession("in", answer.csrf_token);
      onDone();
    },
    onError: (error) => {
      if (asProblem(error).code === "code-needed") setAsked(true);
    },
    meta: { inline: true },
  });
  const problem = signIn.error ? asProblem(signIn.error) : null;
  const isAsked = problem?.code === "code-needed";
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!signIn.isPending) signIn.mutate();
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
          setAsked(false); // whether another account needs one is not known
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
          description="What the authenticator app shows now, or a recovery code."
          autoComplete="one-time-code"
          autoCapitalize="none"
          spellCheck={false}
          required
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          autoFocus
        />
      ) : null}
      {problem && !isAsked ? (
        <Note severity="error" live>
          {problem.message}
          {problem.retryAfterS !== null && problem.status === 429
            ? ` Try again in ${problem.retryAfterS} s.`
            : null}
        </Note>
      ) : null}
      <Button type="submit" size="sm" variant="filled" loading={signIn.isPending}>
        Sign in
      </Button>
    </form>
  );
}
