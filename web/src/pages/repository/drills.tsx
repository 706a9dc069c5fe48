import { Alert, Button, Code, Menu, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { drills, type RepositoryPath, statementAddress } from '../../api/queries.ts';
import { Age } from '../../parts/age.tsx';
import { formatBytes, formatDuration, nameOfStorage } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';
import { Pages } from '../../parts/pages.tsx';
import { RecordTable } from '../../parts/record-table.tsx';
import { OutcomeBadge, outcomeOfDrill } from '../../parts/status.tsx';

type Repository = Pick<
  Schemas['TrackedRepository'],
  'last_proof' | 'last_drill' | 'last_status' | 'archive'
>;

const LIMIT = 10;

/** Whether a repository is proven restorable, and its restore drills. */
export function RepositoryDrills({
  path,
  repository: { last_proof, last_drill, last_status, archive },
}: {
  path: RepositoryPath;
  repository: Repository;
}) {
  return (
    <Stack gap="xs" component="section" aria-label="Restore drills">
      <Title order={2} size="h4">
        Restore drills
      </Title>
      {last_drill?.outcome === 'failed' && (
        <Alert color="red" title="A restore drill failed, and none has succeeded since">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {last_drill.reason || 'No reason was recorded.'}
          </Text>
        </Alert>
      )}
      <Proof
        proof={last_proof}
        isEmpty={last_status === 'empty'}
        isMissing={archive.state === 'missing'}
      />
      {last_drill !== null && <Drills path={path} />}
    </Stack>
  );
}

/** A proof of an archive that is missing now proves nothing. */
function Proof({
  proof,
  isEmpty,
  isMissing,
}: {
  proof: Repository['last_proof'];
  isEmpty: boolean;
  isMissing: boolean;
}) {
  if (proof === null) {
    return (
      <Text c="dimmed">
        Not proven restorable yet. Drills follow each run; <Code>npm run worker -- drill</Code> runs
        them now.
      </Text>
    );
  }
  if (isEmpty && proof.version === null) {
    return (
      <Text size="sm">
        Proven to be empty <Age of={proof.at} />: there is nothing to restore.
      </Text>
    );
  }
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {isMissing && proof.storage === 'folder'
        ? 'No longer restorable: its archive is gone. It was proven '
        : 'Proven restorable '}
      <Age of={proof.at} /> from <bdi>{nameOfStorage(proof.storage)}</bdi>
      {proof.version !== null && `, version ${proof.version}`}.
    </Text>
  );
}

function Drills({ path }: { path: RepositoryPath }) {
  const [page, setPage] = useState(1);
  return (
    <Loaded query={useQuery(drills(path, { page, limit: LIMIT }))} lines={3}>
      {({ data, pagination }) => (
        <>
          <RecordTable
            minWidth={660}
            heads={['Outcome', 'When', 'Version', 'From', 'Read', 'Duration', 'Statement']}
            numbers={['Read', 'Duration']}
            isReachable
            verticalSpacing="xs"
          >
            {data.map((drill) => (
              <DrillRow key={drill.id} drill={drill} />
            ))}
          </RecordTable>
          <Pages of={pagination} onChange={setPage} />
        </>
      )}
    </Loaded>
  );
}

function DrillRow({ drill }: { drill: Schemas['RestoreDrill'] }) {
  const { id, outcome, reason, started_at, version, storage, bytes, duration_ms, evidence } = drill;
  return (
    <Table.Tr>
      <Table.Td maw={320}>
        <OutcomeBadge outcome={outcomeOfDrill(outcome)} />
        {reason !== null && (
          <Text size="xs" c="dimmed" lineClamp={3} style={{ overflowWrap: 'anywhere' }}>
            {reason}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Age of={started_at} />
      </Table.Td>
      <Table.Td>{version ?? (evidence.empty === true ? 'empty' : '–')}</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <bdi>{nameOfStorage(storage)}</bdi>
      </Table.Td>
      <Table.Td ta="right" style={{ whiteSpace: 'nowrap' }}>
        {formatBytes(bytes)}
      </Table.Td>
      <Table.Td ta="right" style={{ whiteSpace: 'nowrap' }}>
        {formatDuration(duration_ms)}
      </Table.Td>
      <Table.Td>
        <Statement drill={id} state={drill.statement} />
      </Table.Td>
    </Table.Tr>
  );
}

/** Why a drill has no signed statement. */
const absences = {
  before_key: 'None: it is from before the signing key',
  no_key: 'None: there is no signing key',
  altered: 'None: its record was altered',
} as const;

const formats = [
  ['envelope', 'In-toto statement in a DSSE envelope'],
  ['statement', 'Statement alone'],
  ['signature', 'Its detached signature'],
] as const;

/** Downloads the signed statement about a drill. One that is not signed yet is signed by the download. */
function Statement({
  drill,
  state,
}: {
  drill: number;
  state: Schemas['RestoreDrill']['statement'];
}) {
  if (state !== 'signed' && state !== 'pending') {
    return (
      <Text size="xs" c="dimmed">
        {absences[state]}
      </Text>
    );
  }
  return (
    <Menu withinPortal>
      <Menu.Target>
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Signed statement of drill ${drill}`}
        >
          Signed
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {formats.map(([format, label]) => (
          <Menu.Item key={format} component="a" href={statementAddress(drill, format)} download>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
