import { Alert, Anchor, Button, Code, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { report } from '../../api/reports.ts';
import { Age } from '../../parts/age.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Loaded } from '../../parts/loading.tsx';
import { Page } from '../../parts/page.tsx';
import { OutcomeBadge } from '../../parts/status.tsx';
import { nameOfKind, outcomeOfDelivery } from './about.ts';
import { Preview } from './preview.tsx';
import { SendReport } from './send-report.tsx';

type Report = Schemas['Report'];

/** A report to read, copy, download and mail. */
export function ReportPage() {
  const { id } = useParams({ from: '/shell/reports/$id' });
  const query = useQuery(report(id));
  const [isSending, sending] = useDisclosure();
  return (
    <Page
      title={query.data?.subject ?? 'Report'}
      aside={query.data && <Button onClick={sending.open}>Send…</Button>}
    >
      <Loaded query={query}>
        {(report) => (
          <Stack gap="lg">
            <About report={report} />
            <Content report={report} />
            <SendReport report={report} isOpen={isSending} close={sending.close} />
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function About({ report }: { report: Report }) {
  const { report_type, created_at, sent_at, status, recipients, error_message } = report;
  return (
    <>
      <Group gap="sm">
        <Anchor component={Link} to="/reports" size="sm">
          All reports
        </Anchor>
        <Text size="sm" c="dimmed">
          {nameOfKind(report_type)}, created <Age of={created_at} />
        </Text>
        <OutcomeBadge outcome={outcomeOfDelivery(status)} />
      </Group>
      {status === 'sent' && sent_at !== null && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          Mailed <Age of={sent_at} /> to <bdi>{recipients.join(', ')}</bdi>
        </Text>
      )}
      {status === 'failed' && (
        <Alert color="red" title="The mail was not sent">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {error_message || 'No reason was recorded.'}
          </Text>
          <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere' }}>
            It was addressed to <bdi>{recipients.join(', ')}</bdi>. You can send it again: within 24
            hours, the same addresses get it only once.
          </Text>
        </Alert>
      )}
    </>
  );
}

function Content({ report: { id, content_html, content_markdown } }: { report: Report }) {
  const [view, setView] = useState('preview');
  return (
    <Stack>
      <Group justify="space-between">
        <SegmentedControl
          value={view}
          onChange={setView}
          data={[
            { value: 'preview', label: 'Preview' },
            { value: 'markdown', label: 'Markdown' },
          ]}
          aria-label="View of the report"
        />
        <Group gap="xs">
          <CopyButton value={content_markdown}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? 'Copied' : 'Copy Markdown'}
              </Button>
            )}
          </CopyButton>
          <Button
            variant="default"
            onClick={() => download(`report-${id.slice(0, 8)}.md`, content_markdown)}
          >
            Download
          </Button>
        </Group>
      </Group>
      {view === 'preview' ? (
        <Preview html={content_html} />
      ) : (
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {content_markdown}
        </Code>
      )}
    </Stack>
  );
}

function download(name: string, markdown: string): void {
  const address = URL.createObjectURL(new Blob([markdown], { type: 'text/markdown' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
