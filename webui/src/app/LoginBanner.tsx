// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { nameQuery } from "@/api/queries";
import classes from "./SignIn.module.css";

/** What the operator wants to be read before each sign-in; nothing where none is configured. */
export function LoginBanner() {
  const said = useQuery(nameQuery).data?.login_banner;
  return said ? <p className={classes.notice}>{said}</p> : null;
}
