// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { isStarting } from "@/api/problem";
import { nameQuery } from "@/api/queries";
import classes from "./SignIn.module.css";

/** What the operator wants to be read before each sign-in; nothing where none is configured. */
export function LoginBanner() {
  const { data, failureReason } = useQuery(nameQuery);
  const said =
    data === undefined && isStarting(failureReason)
      ? "The router is starting. Its name and its notice will be here in a moment."
      : data?.login_banner;
  return said ? <p className={classes.notice}>{said}</p> : null;
}
