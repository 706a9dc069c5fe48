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

/** The most recipients that Resend accepts in one mail. */
const MAX_RECIPIENTS = 50;

interface SendReportProps {
  report: Report;
  isOpen: boolean;
  close(): void;
}

/** Mails a report to allowed addresses, after the user has confirmed the list. */
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
              {mail.reason}. Set what is missing in the server’s environment, and restart the
              server. Until then, copy or download the report.
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
  const [chosen, setChosen] = useState(() => suggestedRecipients(report, allowed));
  const [isConfirming, setConfirming] = useState(false);
  const sending = useMutation({
    mutationFn: () => sendReport({ report_id: report.id, recipients: chosen }),
    onSuccess: ({ recipients }) => {
      close();
      const message = `Sent to ${recipients.join(', ')}`;
      void notify({ color: 'teal', title: 'The report was mailed', message });
    },
    onError: () => setConfirming(false),
    // A failure is recorded in the report too.
    onSettled: () => queries.invalidateQueries({ queryKey: ['reports'] }),
  });
  if (isConfirming) {
    return (
      <Stack>
        <Text>
          “<bdi>{report.subject}</bdi>” will be mailed to{' '}
          {countOf(chosen.length, 'address', 'addresses')} and nobody else:
        </Text>
        <List style={{ overflowWrap: 'anywhere' }}>
          {chosen.map((address) => (
            <List.Item key={address}>
              <bdi>{address}</bdi>
            </List.Item>
          ))}
        </List>
        <Group justify="flex-end">
          <Button
            variant="default"
            onClick={() => setConfirming(false)}
            disabled={sending.isPending}
          >
            Back
          </Button>
          <Button onClick={() => sending.mutate()} loading={sending.isPending} data-autofocus>
            Send now
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
        description="The addresses in SMTP_TO. Nobody else can be sent a report."
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
          onClick={() => setConfirming(true)}
          disabled={chosen.length === 0 || chosen.length > MAX_RECIPIENTS}
        >
          Continue
        </Button>
      </Group>
    </Stack>
  );
}

/** The earlier recipients of the report that are still allowed, or else all allowed addresses. */
function suggestedRecipients({ recipients }: Report, allowed: readonly string[]): string[] {
  const named = allowed.filter((address) => recipients.includes(address));
  return named.length > 0 ? named : [...allowed];
}
