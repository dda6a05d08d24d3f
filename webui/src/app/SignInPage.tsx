// SPDX-License-Identifier: Apache-2.0
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useSession } from "@/api/session";
import classes from "./SignIn.module.css";
import { SignInForm } from "./SignInForm";

/** Only addresses of this UI are followed after sign-in. */
const within = (next: string | undefined): string => (next?.startsWith("/") && !next.startsWith("//") ? next : "/");

export function SignInPage() {
  const { next } = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const session = useSession();
  const [done, setDone] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Weir";
  }, []);
  useEffect(() => {
    if (done || session === "in") void navigate({ to: within(next), replace: true });
  }, [done, session, navigate, next]);
  return (
    <main className={classes.page}>
      <div className={classes.box}>
        <h1 className={classes.title}>
          <img src="/weir.svg" alt="" width={28} height={28} /> Weir
        </h1>
        <SignInForm onDone={() => setDone(true)} />
        <p className="dim">The first password is printed on the console by the installation and must be changed at the first sign-in.</p>
      </div>
    </main>
  );
}
