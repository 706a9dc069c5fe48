import { Button, Checkbox, Group, Select, Skeleton, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import type { Schemas } from '../api/client.ts';
import { type RepositoriesQuery, repositories } from '../api/queries.ts';
import { Age } from '../parts/age.tsx';
import { Empty } from '../parts/empty.tsx';
import { describeArchiveSize } from '../parts/format.ts';
import { Loaded } from '../parts/loading.tsx';
import { NoBackups } from '../parts/no-backups.tsx';
import { Page } from '../parts/page.tsx';
import { Pages } from '../parts/pages.tsx';
import { RecordTable, type Sorting } from '../parts/record-table.tsx';
import { RepositoryLink, SourceAddress } from '../parts/repository-link.tsx';
import { OutcomeBadge, outcomeOfState } from '../parts/status.tsx';
import { Coverage } from './coverage.tsx';

const Badges = lazy(async () => ({
  default: (await import('./badges.tsx')).Badges,
}));

const ForgetSeveral = lazy(async () => ({
  default: (await import('./forget-several.tsx')).ForgetSeveral,
}));

const TYPING_MS = 250;
/** How many repositories one request can forget. */
const MAX_SELECTED = 100;

/** A choice among the states, though not one of them: a forgotten repository is no longer tracked. */
const FORGOTTEN = 'forgotten';

const states = [
  { value: 'good', label: 'Good' },
  { value: 'stale', label: 'Stale' },
  { value: 'failing', label: 'Failing' },
  { value: 'lost', label: 'Lost at its source' },
  { value: 'never', label: 'Never backed up' },
  { value: 'gone', label: 'Archive gone' },
  { value: FORGOTTEN, label: 'Forgotten' },
];
const orders = [
  { value: 'worst', label: 'Worst first' },
  { value: 'size', label: 'Largest first' },
  { value: 'newest', label: 'Newest first' },
  { value: 'name', label: 'By name' },
  { value: 'last_good', label: 'Last good' },
  { value: 'proof', label: 'Least proven first' },
];
const proofs = [
  { value: 'proven', label: 'Proven' },
  { value: 'overdue', label: 'Overdue' },
  { value: 'never', label: 'Never proven' },
  { value: 'failing', label: 'Failed a drill' },
];
const copies = [
  { value: 'current', label: 'Newest version' },
  { value: 'behind', label: 'Behind' },
  { value: 'missing', label: 'Nowhere else' },
  { value: 'failing', label: 'Refused by a store' },
];
/** The columns by which the list can be ordered. */
const columns = {
  Repository: 'name',
  State: 'worst',
  'Last good': 'last_good',
  'Proven restorable': 'proof',
  Archive: 'size',
};

export function RepositoriesPage() {
  const filters = useSearch({ from: '/shell/repositories' });
  const { page = 1, order = 'worst', text, state, forgotten, proof, off_site, reverse } = filters;
  const navigate = useNavigate();
  const filter = (change: RepositoriesQuery) => {
    const { page: _, ...kept } = filters;
    void navigate({ to: '/repositories', search: { ...kept, ...change }, replace: true });
  };
  const filterText = useDebouncedCallback((text: string) => filter({ text }), TYPING_MS);
  const [selected, setSelected] = useState<readonly string[]>([]);
  const isFiltered =
    [text, state, proof, off_site].some((filter) => filter !== undefined) || forgotten === true;
  const sorting: Sorting = {
    orders: columns,
    descending: ['last_good', 'size'],
    ...{ order, isReverse: reverse === true },
    onSort: (order, isReverse) =>
      filter({
        order: order as RepositoriesQuery['order'],
        reverse: isReverse ? true : undefined,
      }),
  };
  return (
    <Page title="Repositories">
      <Group align="end">
        <TextInput
          label="Name contains"
          defaultValue={text ?? ''}
          maxLength={200}
          onChange={({ currentTarget }) => filterText(currentTarget.value)}
          flex="1 1 200px"
        />
        <Select
          label="State"
          placeholder="All"
          clearable
          data={states}
          value={forgotten ? FORGOTTEN : (state ?? null)}
          onChange={(state) =>
            filter(
              state === FORGOTTEN
                ? { state: undefined, forgotten: true }
                : {
                    state: (state ?? undefined) as RepositoriesQuery['state'],
                    forgotten: undefined,
                  },
            )
          }
          w={170}
        />
        <Select
          label="Proof"
          placeholder="All"
          clearable
          data={proofs}
          value={proof ?? null}
          onChange={(proof) =>
            filter({ proof: (proof ?? undefined) as RepositoriesQuery['proof'] })
          }
          w={150}
        />
        <Select
          label="Off-site copy"
          placeholder="All"
          clearable
          data={copies}
          value={off_site ?? null}
          onChange={(copy) =>
            filter({ off_site: (copy ?? undefined) as RepositoriesQuery['off_site'] })
          }
          w={170}
        />
        <Select
          label="Order"
          allowDeselect={false}
          data={orders}
          value={order}
          onChange={(order) =>
            filter({ order: order as RepositoriesQuery['order'], reverse: undefined })
          }
          w={180}
        />
      </Group>
      <Loaded query={useQuery(repositories({ ...filters, page, order }))} lines={8}>
        {({ data, pagination }) =>
          data.length > 0 ? (
            <>
              {forgotten !== true && (
                <Selection
                  selected={selected}
                  onChange={setSelected}
                  shown={data.map(({ full_name }) => full_name)}
                />
              )}
              <RepositoriesTable
                repositories={data}
                sorting={sorting}
                selection={
                  forgotten === true
                    ? null
                    : {
                        has: (name) => selected.includes(name),
                        isFull: selected.length >= MAX_SELECTED,
                        toggle: (name) => setSelected((before) => toggled(before, name)),
                      }
                }
              />
              <Pages
                of={pagination}
                onChange={(page) =>
                  void navigate({ to: '/repositories', search: { ...filters, page } })
                }
              />
            </>
          ) : isFiltered ? (
            <Empty title="No repositories match">Change the filters to see others.</Empty>
          ) : (
            <NoBackups />
          )
        }
      </Loaded>
      <Coverage />
      <Suspense fallback={<Skeleton height={120} />}>
        <Badges repository={null} />
      </Suspense>
    </Page>
  );
}

function toggled(selected: readonly string[], name: string): readonly string[] {
  return selected.includes(name) ? selected.filter((one) => one !== name) : [...selected, name];
}

/** What is selected, on this page of the list and on others, and what can be done with it. */
function Selection({
  selected,
  onChange,
  shown,
}: {
  selected: readonly string[];
  onChange(selected: readonly string[]): void;
  /** The names on this page of the list. */
  shown: readonly string[];
}) {
  const [isForgetting, setForgetting] = useState(false);
  const all = [...new Set([...selected, ...shown])].slice(0, MAX_SELECTED);
  return (
    <Group gap="xs" role="group" aria-label="Selection">
      <Text size="sm" role="status">
        {selected.length === MAX_SELECTED
          ? `${MAX_SELECTED} selected, which is the most at once`
          : `${selected.length} selected`}
      </Text>
      <Button
        size="compact-sm"
        variant="default"
        disabled={all.length === selected.length}
        onClick={() => onChange(all)}
      >
        Select all shown
      </Button>
      {selected.length > 0 && (
        <>
          <Button size="compact-sm" variant="default" onClick={() => onChange([])}>
            Select none
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setForgetting(true)}>
            Forget the selected
          </Button>
        </>
      )}
      {isForgetting && (
        <Suspense>
          <ForgetSeveral
            names={selected}
            onForgotten={(names) => onChange(selected.filter((name) => !names.has(name)))}
            onClose={() => setForgetting(false)}
          />
        </Suspense>
      )}
    </Group>
  );
}

function RepositoriesTable({
  repositories,
  selection,
  sorting,
}: {
  repositories: readonly Schemas['TrackedRepository'][];
  sorting: Sorting;
  /** Null if rows cannot be selected. */
  selection: { has(name: string): boolean; isFull: boolean; toggle(name: string): void } | null;
}) {
  return (
    <RecordTable
      minWidth={680}
      heads={['Repository', 'State', 'Last good', 'Proven restorable', 'Reason', 'Archive']}
      numbers={['Archive']}
      sorting={sorting}
      highlightOnHover
    >
      {repositories.map((repository) => (
        <Table.Tr key={repository.full_name}>
          <Table.Td miw={200}>
            <Group gap="xs" wrap="nowrap" align="start">
              {selection !== null && (
                <Checkbox
                  size="xs"
                  mt={4}
                  aria-label={`Select ${repository.full_name}`}
                  checked={selection.has(repository.full_name)}
                  disabled={selection.isFull && !selection.has(repository.full_name)}
                  onChange={() => selection.toggle(repository.full_name)}
                />
              )}
              <div>
                <RepositoryLink name={repository.full_name} />
                {repository.source !== null && <SourceAddress address={repository.source} />}
              </div>
            </Group>
          </Table.Td>
          <Table.Td>
            <OutcomeBadge outcome={outcomeOfState(repository.state)} />
          </Table.Td>
          <Table.Td>
            {repository.last_good_at === null ? 'never' : <Age of={repository.last_good_at} />}
          </Table.Td>
          <Table.Td>
            <Proof repository={repository} />
          </Table.Td>
          <Table.Td>
            <Text size="sm" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
              {repository.error_message}
            </Text>
          </Table.Td>
          <Table.Td ta="right" style={{ whiteSpace: 'nowrap' }}>
            {describeArchiveSize(repository)}
          </Table.Td>
        </Table.Tr>
      ))}
    </RecordTable>
  );
}

/** When a restore drill last proved the repository, or that the last drill failed. */
function Proof({
  repository: { last_proof, last_drill, state },
}: {
  repository: Schemas['TrackedRepository'];
}) {
  if (last_drill?.outcome === 'failed') {
    return (
      <Text size="sm" c="var(--mantine-color-red-light-color)">
        failed <Age of={last_drill.at} />
      </Text>
    );
  }
  if (state === 'gone') return 'no longer';
  return last_proof === null ? 'never' : <Age of={last_proof.at} />;
}
