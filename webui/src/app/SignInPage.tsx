// SPDX-License-Identifier: Apache-2.0
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";
import { nameQuery, setupQuery } from "@/api/queries";
import { useSession } from "@/api/session";
import { LoginBanner } from "./LoginBanner";
import classes from "./SignIn.module.css";
import { SignInForm } from "./SignInForm";

/** Only addresses of this UI are followed after sign-in. */
const within = (next: string | undefined): string =>
  next?.startsWith("/") && !next.startsWith("//") ? next : "/";

const SetupPage = lazy(() => import("./SetupPage"));

export function SignInPage() {
  const { next } = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const session = useSession();
  const [done, setDone] = useState(false);
  const setup = useQuery(setupQuery).data;
  const isNew = setup?.needed === true;
  const name = useQuery(nameQuery).data?.hostname ?? null;
  useEffect(() => {
    document.title = `${isNew ? "First setup" : "Sign in"} · ${name ?? "Weir"}`;
  }, [isNew, name]);
  useEffect(() => {
    if (done || session === "in") void navigate({ to: within(next), replace: true });
  }, [done, session, navigate, next]);
  return (
    <main className={classes.page}>
      <div className={isNew ? `${classes.box} ${classes.wide}` : classes.box}>
        <h1 className={classes.title}>
          <img src="/weir.svg" alt="" width={28} height={28} />
          {name === null ? (
            "Weir"
          ) : (
            <>
              <span className={classes.name}>{name}</span> <span className={classes.product}>Weir</span>
            </>
          )}
        </h1>
        <LoginBanner />
        {isNew ? (
          <Suspense fallback={null}>
            <SetupPage setup={setup} onDone={() => setDone(true)} />
          </Suspense>
        ) : (
          <>
            <SignInForm onDone={() => setDone(true)} />
            <p className="dim">
              Forgot the password? Create a one-time password on the router&apos;s console.
            </p>
          </>
        )}
      </div>
    </main>
  );
}
