// SPDX-License-Identifier: Apache-2.0
import { Modal } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import { asProblem } from "@/api/problem";
import { meQuery, queryClient } from "@/api/queries";
import { setSession, useSession } from "@/api/session";
import { Note, Page, Skeleton } from "@/ui/blocks";
import { LoginBanner } from "./LoginBanner";
import { PasswordForm } from "./PasswordForm";
import { SignInForm } from "./SignInForm";

/**
 * Lets nobody in without a session. When a session ends while somebody works, the page stays as it
 * is and the password is asked over it, so that nothing typed is lost.
 */
export function SessionGate({ children }: { children: ReactNode }) {
  const session = useSession();
  const me = useQuery(meQuery);
  const navigate = useNavigate();

  useEffect(() => {
    if (me.data && session === "unknown") setSession("in", me.data.csrf_token);
  }, [me.data, session]);
  useEffect(() => {
    if (session !== "out") return;
    const asked = window.location.pathname + window.location.search;
    void navigate({ to: "/sign-in", search: { next: asked === "/" ? undefined : asked }, replace: true });
  }, [session, navigate]);

  if (session === "out") return null;
  if (!me.data)
    return me.isError ? (
      <Unreachable error={me.error} />
    ) : (
      <Page title="Weir">
        <Skeleton />
      </Page>
    );
  if (me.data.must_change_password) return <PasswordForm first />;
  if (session === "unknown") return null;
  return (
    <>
      {children}
      <Modal
        opened={session === "lost"}
        onClose={() => undefined}
        withCloseButton={false}
        title="Your session has ended"
        size="sm"
      >
        <div className="stack">
          <LoginBanner />
          <p className="dim">Sign in again to go on. What you typed is still here.</p>
          <SignInForm username={me.data.username} onDone={() => void queryClient.invalidateQueries()} />
        </div>
      </Modal>
    </>
  );
}

function Unreachable({ error }: { error: unknown }) {
  return (
    <Page title="Weir">
      <Note severity="error" live>
        <p>{asProblem(error).message}</p>
        <p>This page tries again by itself.</p>
        <Retry />
      </Note>
    </Page>
  );
}

function Retry() {
  useEffect(() => {
    const timer = window.setInterval(
      () => void queryClient.refetchQueries({ queryKey: meQuery.queryKey }),
      3_000,
    );
    return () => window.clearInterval(timer);
  }, []);
  return null;
}
