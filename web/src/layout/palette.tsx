import '@mantine/spotlight/styles.css';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, type SpotlightActionGroupData, spotlight } from '@mantine/spotlight';
import {
  BellIcon,
  CubeIcon,
  GearIcon,
  ListBulletIcon,
  MagnifyingGlassIcon,
  ReaderIcon,
} from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { basePath } from '../api/base-path.ts';
import { incidents, repositories } from '../api/queries.ts';
import { settingsTabs } from '../pages/settings/tabs.ts';
import { pathOfRepository } from '../parts/repository-link.tsx';
import { paletteQuery } from './palette-query.ts';
import { places } from './places.ts';

export const openPalette = spotlight.open;

const TYPING_MS = 150;
const SHOWN_REPOSITORIES = 8;
const SHOWN_INCIDENTS = 5;
const ICON = { width: 18, height: 18 };

/** Lets the user go to a page, a setting, a repository, a run or an open incident, or search for what was typed. */
export default function Palette() {
  const query = useSyncExternalStore(paletteQuery.subscribe, paletteQuery.read);
  const [asked] = useDebouncedValue(query.trim(), TYPING_MS);
  return (
    <Spotlight
      shortcut={null}
      highlightQuery
      scrollable
      maxHeight="60vh"
      nothingFound="Nothing found"
      query={query}
      onQueryChange={paletteQuery.set}
      clearQueryOnClose={false}
      onSpotlightClose={paletteQuery.end}
      searchProps={{
        placeholder: 'Go to a page, a repository, a run…',
        'aria-label': 'Go to',
        // Of what was typed early, nothing is selected yet.
        onKeyDown({ key }) {
          if (key !== 'Enter' || document.querySelector('[data-action][data-selected]')) return;
          document.querySelector<HTMLElement>('[data-action]')?.click();
        },
        onFocus({ currentTarget }) {
          paletteQuery.end();
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
  const open = useQuery({
    ...incidents({ page: 1, state: 'open' }),
    enabled: asked !== '',
    refetchInterval: false,
  });
  const pages = [
    ...places.map(({ to, label, icon: Icon }) => ({
      ...{ id: to, label, leftSection: <Icon {...ICON} /> },
      onClick: () => void navigate({ to }),
    })),
    ...settingsTabs.map(({ value, label, words }) => ({
      ...{ id: `settings ${value}`, label: `Settings: ${label}`, keywords: words.split(' ') },
      leftSection: <GearIcon {...ICON} />,
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
  const has = (text: string) => text.toLowerCase().includes(query.toLowerCase());
  const isPage = pages.some(
    ({ label, ...page }) => has(label) || ('keywords' in page && page.keywords.some(has)),
  );
  const told = (open.data?.data ?? []).filter(
    ({ title, summary, repositories }) =>
      has(title) || has(summary) || repositories.some(({ name }) => has(name)),
  );
  const isFound = isPage || named.length > 0 || told.length > 0 || run !== undefined;
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
      group: 'Open incidents',
      actions: told.slice(0, SHOWN_INCIDENTS).map(({ id, title, summary }) => ({
        ...{ id: `incident ${id}`, label: title, description: summary, keywords: [query] },
        leftSection: <BellIcon {...ICON} />,
        onClick: () => void navigate({ to: '/incidents', hash: `incident-${id}` }),
      })),
    },
    {
      group: 'Search',
      actions: isFound
        ? []
        : [
            {
              ...{ id: 'search', label: `Search logs and results for “${query}”` },
              leftSection: <MagnifyingGlassIcon {...ICON} />,
              onClick: () => void navigate({ to: '/search', search: { q: query } }),
            },
          ],
    },
  ];
}
