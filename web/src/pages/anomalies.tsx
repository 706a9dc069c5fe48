import { Alert, Badge, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, body, type Schemas } from '../api/client.ts';
import { Age } from '../parts/age.tsx';
import { formatCount } from '../parts/format.ts';
import { Failure } from '../parts/loading.tsx';
import { notify } from '../parts/notify.ts';
import { RepositoryLink } from '../parts/repository-link.tsx';

type Anomaly = Schemas['Anomaly'];

/** The most changes that are listed. */
const SHOWN = 5;
const ID_LENGTH = 12;

const titles: Record<Anomaly['kind'], string> = {
  branches_rewritten: 'Branches were rewritten',
  branches_deleted: 'Branches were deleted',
  tags_rewritten: 'Tags were moved',
  tags_deleted: 'Tags were deleted',
  refs_gone: 'Most branches and tags are gone',
  shrunk: 'The repository shrank to half or less',
  default_branch: 'The default branch changed',
  emptied: 'The repository was emptied',
  noted: 'The archive has a warning',
  missing: 'Many repositories are missing at once',
};

/** Anomalies, each with what changed, and a button to confirm those that are open. */
export function Anomalies({
  anomalies,
  isLinked = false,
}: {
  anomalies: readonly Anomaly[];
  /** Whether to name the repository of each. */
  isLinked?: boolean;
}) {
  return (
    <Stack gap="xs">
      {anomalies.map((anomaly) => (
        <OneAnomaly key={anomaly.id} anomaly={anomaly} isLinked={isLinked} />
      ))}
    </Stack>
  );
}

function OneAnomaly({ anomaly, isLinked }: { anomaly: Anomaly; isLinked: boolean }) {
  const { kind, repository, version, change_count, seen_at, confirmed_at, confirmed_by } = anomaly;
  const isOpen = confirmed_at === null;
  return (
    <Alert color={isOpen ? 'orange' : 'gray'} title={titles[kind]}>
      <Group gap="xs" mb="xs">
        {isLinked && repository !== null && (
          <Text size="sm" fw={600}>
            <RepositoryLink name={repository} onTint />
          </Text>
        )}
        {version !== null && (
          <Badge color="gray" variant="outline">
            version {version}
          </Badge>
        )}
        <Text size="sm">
          noticed <Age of={seen_at} />
        </Text>
      </Group>
      <Changes anomaly={anomaly} />
      {change_count > SHOWN && <Text size="sm">{formatCount(change_count)} in total</Text>}
      {isOpen ? (
        <Confirm anomaly={anomaly} />
      ) : (
        <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere' }}>
          Confirmed <Age of={confirmed_at} /> by <bdi>{confirmed_by}</bdi>.
        </Text>
      )}
    </Alert>
  );
}

/** The first changes, each with the value before and after. */
function Changes({ anomaly: { kind, before, after } }: { anomaly: Anomaly }) {
  if (kind === 'noted') {
    return (
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {Object.values(after).join(', ')}
      </Text>
    );
  }
  return Object.entries(before)
    .slice(0, SHOWN)
    .map(([name, was]) => (
      <Text key={name} size="sm" style={{ overflowWrap: 'anywhere' }}>
        <bdi>{name}</bdi>
        {kind !== 'missing' && (
          <>
            : <Value of={was} /> → {name in after ? <Value of={after[name] ?? ''} /> : 'gone'}
          </>
        )}
      </Text>
    ));
}

function Value({ of }: { of: string }) {
  return <Code>{/^[0-9a-f]{40,64}$/.test(of) ? of.slice(0, ID_LENGTH) : of}</Code>;
}

function Confirm({ anomaly: { id, repository } }: { anomaly: Anomaly }) {
  const client = useQueryClient();
  const confirm = useMutation({
    mutationFn: () => body(api.POST('/api/anomalies/confirm', { body: { ids: [id] } })),
    onSuccess: async () => {
      notify({ message: 'Confirmed. Pruning resumes with the next run.' });
      await Promise.all(
        // Confirming an anomaly resolves its incident.
        ['anomalies', 'incidents', 'overview'].map((key) =>
          client.invalidateQueries({ queryKey: [key] }),
        ),
      );
    },
  });
  return (
    <Stack gap="xs" mt="xs" align="start">
      <Text size="sm">
        {repository === null
          ? 'Until someone confirms this, no version of any repository is pruned.'
          : 'Until someone confirms this, no older versions are pruned.'}
      </Text>
      {confirm.error && <Failure error={confirm.error} />}
      <Button
        size="compact-sm"
        variant="default"
        loading={confirm.isPending}
        onClick={() => confirm.mutate()}
      >
        Confirm
      </Button>
    </Stack>
  );
}
