import '@mantine/spotlight/styles.css';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, type SpotlightActionGroupData, spotlight } from '@mantine/spotlight';
import { CubeIcon, ListBulletIcon, MagnifyingGlassIcon, ReaderIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { basePath } from '../api/base-path.ts';
import { repositories } from '../api/queries.ts';
import { settingsTabs } from '../pages/settings/tabs.ts';
import { pathOfRepository } from '../parts/repository-link.tsx';
import { places } from './places.ts';
import { typedEarly } from './typed-early.ts';

export const openPalette = spotlight.open;

const TYPING_MS = 150;
const SHOWN_REPOSITORIES = 8;
const ICON = { width: 18, height: 18 };

/** Lets the user go to a page, a repository or a run by typing a few letters, or search for what was typed. */
export default function Palette() {
  const early = useSyncExternalStore(typedEarly.subscribe, typedEarly.read);
  const [query, setQuery] = useState(early);
  useEffect(() => setQuery(early), [early]);
  const [asked] = useDebouncedValue(query.trim(), TYPING_MS);
  return (
    <Spotlight
      shortcut={null}
      highlightQuery
      scrollable
      maxHeight="60vh"
      nothingFound="Nothing found"
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={typedEarly.end}
      searchProps={{
        placeholder: 'Go to a page, a repository or a run…',
        'aria-label': 'Go to',
        onFocus({ currentTarget }) {
          typedEarly.end();
          currentTarget.setSelectionRange(currentTarget.value.length, currentTarget.value.length);
        },
      }}
      actions={useActions(query.trim(), asked)}
    />
  );
}

function useActions(query: string, asked: string): SpotlightActionGroupData[] {
  const navigate = useNavigate();
  const found = useQuery({
    ...repositories({ text: asked, page: 1, order: 'name' }),
    enabled: asked !== '',
    refetchInterval: false,
  });
  const pages = [
    ...places.map(({ to, label, icon: Icon }) => ({
      ...{ id: to, label, leftSection: <Icon {...ICON} /> },
      onClick: () => void navigate({ to }),
    })),
    ...settingsTabs.map(({ value, label }) => ({
      ...{ id: `settings ${value}`, label: `Settings: ${label}` },
      onClick: () => void navigate({ to: '/settings', search: { tab: value } }),
    })),
    {
      ...{ id: 'docs', label: 'API documentation', leftSection: <ReaderIcon {...ICON} /> },
      onClick: () => window.location.assign(`${basePath}/docs`),
    },
  ];
  if (query === '') return [{ group: 'Pages', actions: pages }];
  const run = /^(?:run\s*)?#?([1-9]\d{0,8})$/i.exec(query)?.[1];
  const named = asked === '' ? [] : (found.data?.data ?? []);
  return [
    { group: 'Pages', actions: pages },
    {
      group: 'Repositories',
      actions: named.slice(0, SHOWN_REPOSITORIES).flatMap(({ full_name, source }) => {
        const to = pathOfRepository(full_name);
        if (to === null) return [];
        return [
          {
            ...{ id: `repository ${full_name}`, label: full_name },
            leftSection: <CubeIcon {...ICON} />,
            ...(source === null ? {} : { description: source }),
            onClick: () => void navigate({ to }),
          },
        ];
      }),
    },
    {
      group: 'Runs',
      actions:
        run === undefined
          ? []
          : [
              {
                ...{ id: 'run', label: `Run #${run}`, keywords: [query] },
                leftSection: <ListBulletIcon {...ICON} />,
                onClick: () => void navigate({ to: `/runs/${run}` }),
              },
            ],
    },
    {
      group: 'Search',
      actions: [
        {
          ...{ id: 'search', label: `Search logs and results for “${query}”`, keywords: [query] },
          leftSection: <MagnifyingGlassIcon {...ICON} />,
          onClick: () => void navigate({ to: '/search', search: { q: query } }),
        },
      ],
    },
  ];
}
