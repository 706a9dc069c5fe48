import { Alert, Button, Code, Group, Paper, Progress, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { Schemas } from '../../api/client.ts';
import {
  activateGeneration,
  generations,
  processJobs,
  pruneGenerations,
} from '../../api/settings.ts';
import { Age } from '../../parts/age.tsx';
import { countOf, formatCount } from '../../parts/format.ts';
import { Failure, Loaded } from '../../parts/loading.tsx';
import { RecordTable } from '../../parts/record-table.tsx';
import { type Outcome, OutcomeBadge } from '../../parts/status.tsx';
import { Section } from './section.tsx';
import { SwitchModel } from './switch-model.tsx';

type Generation = Schemas['ListedGeneration'];
type Status = Schemas['EmbeddingStatus'];

const states: Record<Generation['status'], Outcome> = {
  BUILDING: { word: 'Building', color: 'blue' },
  READY: { word: 'Ready', color: 'teal' },
  ACTIVE: { word: 'In use', color: 'teal' },
  RETIRED: { word: 'Retired', color: 'gray' },
  FAILED: { word: 'Failed', color: 'red' },
};

/** The vectors that search uses, and the controls to build new ones with another model. */
export function Vectors() {
  const query = useQuery(generations);
  const queries = useQueryClient();
  const [isSwitching, switching] = useDisclosure();
  const refresh = () =>
    Promise.all(
      ['generations', 'installation', 'models'].map((key) =>
        queries.invalidateQueries({ queryKey: [key] }),
      ),
    );
  const build = useBuild(refresh);
  const activating = useMutation({ mutationFn: activateGeneration, onSettled: refresh });
  const pruning = useMutation({ mutationFn: pruneGenerations, onSettled: refresh });
  return (
    <Section
      title="Vectors"
      about="Search always finds words. With vectors it also finds misspelt words, or the same meaning in other words. Vectors come in generations, one model each."
    >
      <Loaded query={query}>
        {({ generations, ...status }) => {
          const building = generations.find(({ status }) => status === 'BUILDING');
          return (
            <>
              {build.error && <Failure error={build.error} />}
              {activating.error && <Failure error={activating.error} />}
              {pruning.error && <Failure error={pruning.error} />}
              {building && (
                <Building
                  generation={building}
                  status={status}
                  isBuiltHere={build.isPending}
                  build={() => build.mutate(building.id)}
                />
              )}
              {generations.length === 0 ? (
                <Text>No vectors yet: searches find words only.</Text>
              ) : (
                <List
                  generations={generations}
                  active={status.active_generation}
                  activate={activating.mutate}
                  isActivating={activating.isPending}
                />
              )}
              <Group gap="sm">
                <Button onClick={switching.open} disabled={building !== undefined}>
                  {generations.length === 0 ? 'Choose a model' : 'Switch model'}
                </Button>
                {generations.some(({ status }) => status === 'RETIRED' || status === 'FAILED') && (
                  <Button
                    variant="default"
                    onClick={() => pruning.mutate()}
                    loading={pruning.isPending}
                  >
                    Delete retired and failed generations
                  </Button>
                )}
              </Group>
              <SwitchModel
                isOpen={isSwitching}
                close={switching.close}
                records={status.progress.total}
                onStarted={(id) => {
                  build.mutate(id);
                  void refresh();
                }}
              />
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}

/** Has the server process jobs, a few batches per request, while the page is open. */
function useBuild(refresh: () => Promise<unknown>) {
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return useMutation({
    mutationFn: async (id: number) => {
      while (isShown.current) {
        const { generation_status, processed } = await processJobs(id);
        await refresh();
        // If nothing was left to process, others have claimed the rest.
        if (generation_status !== 'BUILDING' || processed === 0) return;
      }
    },
    onSettled: refresh,
  });
}

interface BuildingProps {
  generation: Generation;
  status: Status;
  isBuiltHere: boolean;
  build(): void;
}

function Building({ generation, status, isBuiltHere, build }: BuildingProps) {
  const { processed, total, percentage, failed } = status.progress;
  return (
    <Paper withBorder p="md" radius="md">
      <Stack gap="xs">
        <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
          Building <bdi>{generation.model_id}</bdi>
        </Text>
        <Progress value={percentage} animated={isBuiltHere} aria-label="Records with vectors" />
        <Text size="sm" role="status">
          {formatCount(processed)} of {countOf(total, 'record', 'records')}, {percentage}%
          {failed > 0 && `, ${formatCount(failed)} failed`}
        </Text>
        {isBuiltHere ? (
          <Text size="sm" c="dimmed">
            Building continues while this page is open. Searches stay as they are until you switch
            to this generation.
          </Text>
        ) : (
          <Group gap="sm">
            <Button size="xs" onClick={build}>
              Build here
            </Button>
            <Text size="sm" c="dimmed">
              or run <Code>npm run worker -- embed</Code>
            </Text>
          </Group>
        )}
      </Stack>
    </Paper>
  );
}

interface ListProps {
  generations: readonly Generation[];
  active: Status['active_generation'];
  activate(id: number): void;
  isActivating: boolean;
}

function List({ generations, active, activate, isActivating }: ListProps) {
  return (
    <>
      <RecordTable
        minWidth={640}
        heads={['Generation', 'Model', 'State', 'Created', 'Failed records']}
        numbers={['Failed records']}
      >
        {generations.map(({ id, model_id, dimensions, status, created_at, failed_jobs }) => (
          <Table.Tr key={id}>
            <Table.Td>#{id}</Table.Td>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              <bdi>{model_id}</bdi>
              <Text size="xs" c="dimmed">
                {formatCount(dimensions)} dimensions
                {active?.id === id && `, ${countOf(active.chunk_count, 'vector', 'vectors')}`}
              </Text>
            </Table.Td>
            <Table.Td>
              {status === 'READY' ? (
                <Button size="xs" onClick={() => activate(id)} loading={isActivating}>
                  Use for searches
                </Button>
              ) : (
                <OutcomeBadge outcome={states[status]} />
              )}
            </Table.Td>
            <Table.Td>
              <Age of={created_at} />
            </Table.Td>
            <Table.Td ta="right">{formatCount(failed_jobs)}</Table.Td>
          </Table.Tr>
        ))}
      </RecordTable>
      {generations
        .filter(({ failure }) => failure !== null)
        .map(({ id, failure, failed_jobs }) => (
          <Alert
            key={id}
            color="orange"
            title={`${countOf(failed_jobs, 'record', 'records')} of generation #${id} failed`}
          >
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {failure?.slice(0, 1_000)}
            </Text>
          </Alert>
        ))}
    </>
  );
}
