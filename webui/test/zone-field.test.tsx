// SPDX-License-Identifier: Apache-2.0
import { MantineProvider } from "@mantine/core";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { describe, expect, it } from "vitest";
import { FieldInput } from "@/kinds/form/Inputs";
import { field } from "./toys";

const zone = field("time_zone", "Time zone", { type: "zone" });

function Form({ first }: { first: string }) {
  const [value, setValue] = useState<unknown>(first);
  return (
    <MantineProvider env="test">
      <FieldInput field={zone} value={value} onChange={setValue} messages={{}} />
      <output>{String(value)}</output>
    </MantineProvider>
  );
}

describe("a time zone", () => {
  it("is found by a part of its name", async () => {
    const user = userEvent.setup();
    render(<Form first="" />);
    await user.type(screen.getByRole("combobox", { name: "Time zone" }), "Berl");
    await user.click(await screen.findByRole("option", { name: "Europe/Berlin" }));
    expect(screen.getByRole("status").textContent).toBe("Europe/Berlin");
  });

  it("that the browser does not know is kept", () => {
    render(<Form first="Moon/Sea" />);
    expect(screen.getByRole<HTMLInputElement>("combobox", { name: "Time zone" }).value).toBe("Moon/Sea");
  });
});
