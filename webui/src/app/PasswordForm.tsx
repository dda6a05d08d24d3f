// SPDX-License-Identifier: Apache-2.0
import { Button, PasswordInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { api, need } from "@/api/client";
import { asProblem, messagesByField } from "@/api/problem";
import { meQuery, queryClient } from "@/api/queries";
import { setSession } from "@/api/session";
import { Note } from "@/ui/blocks";
import { setMoved } from "@/ui/focus";
import { say } from "@/ui/toast";
import classes from "./SignIn.module.css";

/** `first`: the page that stands before everything else until the one-time password is replaced. */
export function PasswordForm({ first }: { first?: boolean }) {
  const form = <PasswordFields first={first ?? false} />;
  if (!first) return form;
  return (
    <main className={classes.page}>
      <div className={classes.box}>
        <h1>Choose your password</h1>
        <p className="dim">The one-time password works only once. Choose your own to go on.</p>
        {form}
      </div>
    </main>
  );
}

function PasswordFields({ first }: { first: boolean }) {
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const [again, setAgain] = useState("");
  const change = useMutation({
    mutationFn: async () => {
      await need(api.POST("/api/v1/auth/password", { body: { old_password: old, new_password: fresh } }));
      const me = await queryClient.query({ ...meQuery, staleTime: 0 });
      if (first) setMoved(true);
      setSession("in", me.csrf_token);
    },
    onSuccess: () => {
      setOld("");
      setFresh("");
      setAgain("");
      say("ok", "The password was changed. Other sessions of yours have ended.");
    },
    meta: { inline: true },
  });
  const problem = change.error ? asProblem(change.error) : null;
  const messages = problem ? messagesByField(problem) : {};
  const differs = again !== "" && fresh !== again;
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!differs && !change.isPending) change.mutate();
  };
  return (
    <form onSubmit={submit} className="stack">
      <PasswordInput
        size="sm"
        label={first ? "One-time password" : "Present password"}
        autoComplete="current-password"
        required
        value={old}
        error={messages["old_password"]}
        onChange={(event) => setOld(event.currentTarget.value)}
        autoFocus={first}
      />
      <PasswordInput
        size="sm"
        label="New password"
        description="At least 10 characters; a few words are good."
        autoComplete="new-password"
        required
        minLength={10}
        value={fresh}
        error={messages["new_password"]}
        onChange={(event) => setFresh(event.currentTarget.value)}
      />
      <PasswordInput
        size="sm"
        label="New password again"
        autoComplete="new-password"
        required
        value={again}
        error={differs ? "The two are not the same." : undefined}
        onChange={(event) => setAgain(event.currentTarget.value)}
      />
      {problem && !messages["old_password"] && !messages["new_password"] ? (
        <Note severity="error" live>
          {problem.message}
        </Note>
      ) : null}
      <Button type="submit" size="sm" variant="filled" loading={change.isPending}>
        Change the password
      </Button>
    </form>
  );
}
