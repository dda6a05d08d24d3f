// SPDX-License-Identifier: Apache-2.0
import { Button, type ButtonProps } from "@mantine/core";
import { useId, type ReactNode } from "react";
import { sentence } from "./format";
import { say } from "./toast";

interface ReasonedButtonProps extends ButtonProps {
  /** Why it cannot be pressed now, in words; null: it can. */
  why: string | null;
  type?: "button" | "submit";
  onClick?: () => void;
  children: ReactNode;
}

/** A button that says why it does nothing: on hover, to a screen reader, and when it is pressed. It can be reached by Tab all the same. */
export function ReasonedButton({ why, type = "button", onClick, children, ...props }: ReasonedButtonProps) {
  const id = useId();
  if (why === null)
    return (
      <Button {...props} type={type} onClick={onClick}>
        {children}
      </Button>
    );
  return (
    <>
      <Button
        {...props}
        type={type}
        data-disabled
        aria-disabled="true"
        aria-describedby={id}
        title={sentence(why)}
        onClick={(event) => {
          // Enter in a field of its form presses it, too: nothing is sent.
          event.preventDefault();
          say("notice", sentence(why));
        }}
      >
        {children}
      </Button>
      <span id={id} className="hidden-text">
        {sentence(why)}
      </span>
    </>
  );
}
