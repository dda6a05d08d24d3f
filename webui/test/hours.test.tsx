// SPDX-License-Identifier: Apache-2.0
/** Hours of a firewall rule: the input that queues have, too, and the same words. */
import { MantineProvider } from "@mantine/core";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { describe, expect, it, vi } from "vitest";
import { FieldInput } from "@/kinds/form/Inputs";
import { DECLARED } from "@/kinds/kinds";
import { valueWords } from "@/kinds/values";

const field = DECLARED.get("firewall-rule")!.fields.find(({ name }) => name === "time")!;

interface FormProps {
  messages: Record<string, string>;
  told: (value: unknown) => void;
}

function Form({ messages, told }: FormProps) {
  const [value, setValue] = useState<unknown>(null);
  const change = (next: unknown) => {
    setValue(next);
    told(next);
  };
  return (
    <MantineProvider>
      <FieldInput field={field} value={value} onChange={change} messages={messages} />
    </MantineProvider>
  );
}

describe("the schedule of a firewall rule", () => {
  it("is typed as a queue's, also until 24:00", async () => {
    const user = userEvent.setup();
    const told = vi.fn<(value: unknown) => void>();
    const now = () => told.mock.lastCall?.[0];
    render(<Form messages={{ "time.end": "is too early" }} told={told} />);
    await user.click(screen.getByRole("button", { name: "Add to Schedule" }));
    expect(now()).toEqual({
      start: "00:00",
      end: "24:00",
      days: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
    });
    const from = screen.getByRole("textbox", { name: "From" });
    await user.clear(from);
    await user.type(from, "22:00");
    for (const day of ["sat", "sun"]) await user.click(screen.getByRole("checkbox", { name: day }));
    const end = screen.getByRole<HTMLInputElement>("textbox", { name: "To" });
    expect([end.value, end.getAttribute("aria-invalid")]).toEqual(["24:00", "true"]);
    expect(now()).toEqual({ start: "22:00", end: "24:00", days: ["mon", "tue", "wed", "thu", "fri"] });
    expect(valueWords(field, now())).toBe("22:00-24:00 mon, tue, wed, thu, fri");
  });
});
