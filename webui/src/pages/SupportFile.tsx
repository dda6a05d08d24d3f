// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMay } from "@/api/may";
import { Section } from "@/ui/blocks";

/** What helpers ask for first; only administrators may take it, as the audit trail is in it. */
export function SupportFile() {
  return useMay("admin") ? (
    <Section title="Support file">
      <div className="stack">
        <p className="dim">
          One zip archive for those who help you: health, findings, the configuration, the last revisions and
          audit entries, figures of the last 24 hours, and the ends of the logs. No password, key or token is
          in it. Names, addresses, comments and messages are: look through it before you send it.
        </p>
        <div className="row">
          <Button
            component="a"
            href="/api/v1/diagnosis/support-file"
            download
            leftSection={<IconDownload size={15} />}
          >
            Download a support file
          </Button>
        </div>
      </div>
    </Section>
  ) : null;
}
