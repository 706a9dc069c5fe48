import { Anchor, Button, Group, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { Schemas } from '../../api/client.ts';
import { reports } from '../../api/reports.ts';
import { Age } from '../../parts/age.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Loaded } from '../../parts/loading.tsx';
import { Page } from '../../parts/page.tsx';
import { RecordTable } from '../../parts/record-table.tsx';
import { OutcomeBadge } from '../../parts/status.tsx';
import { nameOfKind, outcomeOfDelivery } from './about.ts';
import { MakeReport } from './make-report.tsx';
import { RestoreEvidence } from './restore-evidence.tsx';
import { SigningKeys } from './signing-keys.tsx';

/** The user's reports, and a button to create one. */
export function ReportsPage() {
  const { page = 1 } = useSearch({ from: '/shell/reports' });
  const [isMaking, making] = useDisclosure();
  return (
    <Page title="Reports" aside={<Button onClick={making.open}>Create a report</Button>}>
      <Loaded query={useQuery(reports(page))} lines={8}>
        {({ shown, hasOlder }) =>
          shown.length === 0 && page === 1 ? (
            <Empty title="No reports yet">
              A report sums up a run, 30 days or a failure from what is recorded now. Read it here,
              or mail it.
            </Empty>
          ) : (
            <>
              <ReportsTable reports={shown} />
              <PageButtons page={page} hasOlder={hasOlder} />
            </>
          )
        }
      </Loaded>
      <RestoreEvidence />
      <SigningKeys />
      <MakeReport isOpen={isMaking} close={making.close} />
    </Page>
  );
}

function ReportsTable({ reports }: { reports: readonly Schemas['Report'][] }) {
  return (
    <RecordTable minWidth={620} heads={['Report', 'Created', 'Mail', 'To']} highlightOnHover>
      {reports.map((report) => (
        <ReportRow key={report.id} report={report} />
      ))}
    </RecordTable>
  );
}

function ReportRow({ report }: { report: Schemas['Report'] }) {
  const { id, report_type, subject, status, recipients, created_at, sent_at } = report;
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <Anchor component={Link} to={`/reports/${id}`}>
          <bdi>{subject}</bdi>
        </Anchor>
        <Text size="xs" c="dimmed">
          {nameOfKind(report_type)}
        </Text>
      </Table.Td>
      <Table.Td>
        <Age of={created_at} />
      </Table.Td>
      <Table.Td>
        <Stack gap={4} align="flex-start">
          <OutcomeBadge outcome={outcomeOfDelivery(status)} />
          {status === 'failed' && (
            <Text size="xs" lineClamp={2} maw={260} style={{ overflowWrap: 'anywhere' }}>
              {report.error_message}
            </Text>
          )}
          {sent_at !== null && (
            <Text size="xs" c="dimmed">
              <Age of={sent_at} />
            </Text>
          )}
        </Stack>
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        {recipients.slice(0, 3).map((recipient) => (
          <Text key={recipient} size="sm">
            <bdi>{recipient}</bdi>
          </Text>
        ))}
        {recipients.length > 3 && (
          <Text size="sm" c="dimmed">
            and {recipients.length - 3} more
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function PageButtons({ page, hasOlder }: { page: number; hasOlder: boolean }) {
  const navigate = useNavigate();
  if (page === 1 && !hasOlder) return null;
  const turnTo = (to: number) =>
    void navigate({ to: '/reports', search: to > 1 ? { page: to } : {} });
  return (
    <Group justify="space-between">
      <Button variant="default" disabled={page === 1} onClick={() => turnTo(page - 1)}>
        Newer
      </Button>
      <Button variant="default" disabled={!hasOlder} onClick={() => turnTo(page + 1)}>
        Older
      </Button>
    </Group>
  );
}
