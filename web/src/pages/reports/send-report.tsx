import { Alert, Button, Checkbox, Group, List, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { installation } from '../../api/installation.ts';
import { sendReport } from '../../api/reports.ts';
import { countOf } from '../../parts/format.ts';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { notify } from '../../parts/notify.ts';

type Report = Schemas['Report'];

/** Resend takes as many in one mail. */
const MAX_RECIPIENTS = 50;

interface SendReportProps {
  report: Report;
  isOpen: boolean;
  close(): void;
}

/** Mails a report to addresses that may receive it, after showing who they are. */
export function SendReport({ report, isOpen, close }: SendReportProps) {
  const query = useQuery({ ...installation, enabled: isOpen });
  return (
    <Modal opened={isOpen} onClose={close} title="Send the report">
      <Loaded query={query}>
        {({ features: { mail }, report_recipients }) =>
          mail.enabled ? (
            <Delivery report={report} allowed={report_recipients} close={close} />
          ) : (
            <Alert color="orange" title="Mail is not set up">
              {mail.reason}. Set what is missing where the server gets its variables, and restart
              it. Until then, copy or download the report.
            </Alert>
          )
        }
      </Loaded>
    </Modal>
  );
}

interface DeliveryProps {
  report: Report;
  allowed: readonly string[];
  close(): void;
}

function Delivery({ report, allowed, close }: DeliveryProps) {
  const queries = useQueryClient();
  const [chosen, setChosen] = useState(() => namedBefore(report, allowed));
  const [isSure, setSure] = useState(false);
  const sending = useMutation({
    mutationFn: () => sendReport({ report_id: report.id, recipients: chosen }),
    onSuccess: ({ recipients }) => {
      close();
      const message = `It went to ${recipients.join(', ')}`;
      void notify({ color: 'teal', title: 'The report was mailed', message });
    },
    onError: () => setSure(false),
    // A failure is recorded in the report too.
    onSettled: () => queries.invalidateQueries({ queryKey: ['reports'] }),
  });
  if (isSure) {
    return (
      <Stack>
        <Text>
          “<bdi>{report.subject}</bdi>” goes to {countOf(chosen.length, 'address', 'addresses')},
          and to nobody else:
        </Text>
        <List style={{ overflowWrap: 'anywhere' }}>
          {chosen.map((address) => (
            <List.Item key={address}>
              <bdi>{address}</bdi>
            </List.Item>
          ))}
        </List>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => setSure(false)} disabled={sending.isPending}>
            Back
          </Button>
          <Button onClick={() => sending.mutate()} loading={sending.isPending} data-autofocus>
            Send it now
          </Button>
        </Group>
      </Stack>
    );
  }
  return (
    <Stack>
      {sending.error && <Failure error={sending.error} />}
      <Checkbox.Group
        label="To"
        description="The addresses in SMTP_TO. Nobody else can get a report."
        value={chosen}
        onChange={setChosen}
      >
        <Stack gap="xs" mt="xs">
          {allowed.map((address) => (
            <Checkbox
              key={address}
              value={address}
              label={<bdi>{address}</bdi>}
              style={{ overflowWrap: 'anywhere' }}
            />
          ))}
        </Stack>
      </Checkbox.Group>
      {chosen.length > MAX_RECIPIENTS && (
        <Text size="sm" c="var(--mantine-color-error)">
          At most {MAX_RECIPIENTS} at a time.
        </Text>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
        <Button
          onClick={() => setSure(true)}
          disabled={chosen.length === 0 || chosen.length > MAX_RECIPIENTS}
        >
          Continue
        </Button>
      </Group>
    </Stack>
  );
}

/** Those of the report that may still receive it, else everybody. */
function namedBefore({ recipients }: Report, allowed: readonly string[]): string[] {
  const named = allowed.filter((address) => recipients.includes(address));
  return named.length > 0 ? named : [...allowed];
}
