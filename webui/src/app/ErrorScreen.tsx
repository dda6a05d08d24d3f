// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { Link, useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { asProblem } from "@/api/problem";
import { Note, Page } from "@/ui/blocks";

export function ErrorScreen({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const again = () => {
    reset();
    void router.invalidate();
  };
  return (
    <Page title="This page failed">
      <Note severity="error" live>
        <p>{asProblem(error).message}</p>
      </Note>
      <div className="row">
        <Button variant="filled" onClick={again}>
          Try again
        </Button>
        <Link to="/">Overview</Link>
      </div>
    </Page>
  );
}

export function NotFoundScreen() {
  return (
    <Page title="No such page">
      <p>
        There is nothing at this address. <Link to="/">Go to the overview</Link>.
      </p>
    </Page>
  );
}
