import { Button, Chip, Code, Group, List, Text, TextInput } from '@mantine/core';
import { MagnifyingGlassIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import type { Schemas } from '../../api/client.ts';
import { MAX_FOUND, type SourceType, search } from '../../api/search.ts';
import { Empty } from '../../parts/empty.tsx';
import { formatCount } from '../../parts/format.ts';
import { Loaded } from '../../parts/loading.tsx';
import { Page } from '../../parts/page.tsx';
import { explainDegraded } from './degraded.ts';
import { wordsOf } from './query-words.ts';
import { Results } from './results.tsx';

const types: readonly (readonly [SourceType, string])[] = [
  ['execution_log', 'Logs'],
  ['backup_result', 'Results'],
  ['investigation', 'Answers'],
];

/** Finds logs, results and answers. The query is in the address of the page. */
export function SearchPage() {
  const { q = '', type } = useSearch({ from: '/shell/search' });
  const navigate = useNavigate();
  const ask = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const asked = String(new FormData(event.currentTarget).get('q')).trim();
    void navigate({ to: '/search', search: asked === '' ? {} : { q: asked } });
  };
  return (
    <Page title="Search">
      <form onSubmit={ask}>
        <Group align="end">
          <TextInput
            // Remounted when the address changes in another way, such as going back.
            key={q}
            name="q"
            label="Search for"
            defaultValue={q}
            maxLength={1_000}
            flex="1 1 220px"
            autoFocus
          />
          <Button type="submit" leftSection={<MagnifyingGlassIcon width={16} height={16} />}>
            Search
          </Button>
        </Group>
      </form>
      {q === '' ? <SearchHelp /> : <Found q={q} type={type} />}
    </Page>
  );
}

function SearchHelp() {
  return (
    <Empty title="Search everything that was recorded">
      Log lines, backup results, and the answers in your own chats.
      <List ta="left" mt="md" spacing="xs">
        <List.Item>
          <Code>clone failed</Code> finds both words, in any form
        </List.Item>
        <List.Item>
          <Code>"exit status 128"</Code> finds the words next to each other
        </List.Item>
        <List.Item>
          <Code>clone or fetch</Code> finds either word, <Code>clone -timeout</Code> the first
          without the second
        </List.Item>
        <List.Item>
          <Code>owner/name</Code>, <Code>4e1243ab</Code> find a repository or a commit
        </List.Item>
      </List>
    </Empty>
  );
}

function Found({ q, type }: { q: string; type: SourceType | undefined }) {
  const all = useQuery(search(q));
  const query = useQuery(search(q, type));
  return (
    <>
      {all.data !== undefined && <Facets q={q} type={type} all={all.data} chosen={query.data} />}
      <Loaded query={query} lines={6}>
        {({ results, degradations, nothing_found }) => (
          <>
            {degradations.length > 0 && (
              <Text size="sm" c="dimmed" role="note">
                {explainDegraded(degradations)}
              </Text>
            )}
            {results.length === 0 ? (
              <NothingFound q={q} why={nothing_found} />
            ) : (
              <Results results={results} words={wordsOf(q)} />
            )}
            {results.length >= MAX_FOUND && (
              <Text c="dimmed">
                These are the {MAX_FOUND} best results. Add a word to narrow the search.
              </Text>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function NothingFound({ q, why }: { q: string; why: string | null }) {
  return (
    <Empty title="Nothing found">
      Nothing matches <Code style={{ overflowWrap: 'anywhere' }}>{q.slice(0, 200)}</Code>
      {why === null ? '.' : `: ${why}.`} Deleted log lines cannot be found.
    </Empty>
  );
}

interface FacetsProps {
  q: string;
  type: SourceType | undefined;
  all: Schemas['SearchAnswer'];
  chosen: Schemas['SearchAnswer'] | undefined;
}

/** The number of results of each kind, with a `+` if the search reached its limit, because there may be more. */
function Facets({ q, type, all, chosen }: FacetsProps) {
  const navigate = useNavigate();
  const plus = all.total >= MAX_FOUND ? '+' : '';
  const countOf = (kind: SourceType) => {
    if (kind === type && chosen) {
      return `${formatCount(chosen.total)}${chosen.total >= MAX_FOUND ? '+' : ''}`;
    }
    const count = all.results.filter(({ source_type }) => source_type === kind).length;
    return `${formatCount(count)}${plus}`;
  };
  return (
    <Chip.Group
      value={type ?? ''}
      onChange={(value) =>
        void navigate({
          to: '/search',
          search: value === '' ? { q } : { q, type: value as SourceType },
        })
      }
    >
      <Group gap="xs" role="radiogroup" aria-label="What to show">
        <Chip value="">
          All ({formatCount(all.total)}
          {plus})
        </Chip>
        {types.map(([kind, label]) => (
          <Chip key={kind} value={kind}>
            {label} ({countOf(kind)})
          </Chip>
        ))}
      </Group>
    </Chip.Group>
  );
}
