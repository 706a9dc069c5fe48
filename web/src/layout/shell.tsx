import {
  ActionIcon,
  Anchor,
  AppShell,
  Burger,
  Group,
  NavLink,
  Text,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import {
  ExitIcon,
  MagnifyingGlassIcon,
  MoonIcon,
  ReaderIcon,
  SunIcon,
} from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { ApiError, api } from '../api/client.ts';
import { me } from '../api/queries.ts';
import { notify } from '../parts/notify.ts';
import { usePainted } from '../parts/use-painted.ts';
import { Hints } from './hints.tsx';
import { places } from './places.ts';

// Most visits do without them.
const Notices = lazy(() => import('./notices.tsx'));
const Palette = lazy(() => import('./palette.tsx'));

/** What every page but the login has around it. */
export function Shell() {
  const [isOpen, menu] = useDisclosure();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [isPaletteWanted, palette] = useDisclosure();
  const openPalette = () => {
    palette.open();
    void import('./palette.tsx').then(({ openPalette }) => openPalette());
  };
  useHotkeys([['mod+K', openPalette]], []);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="lg"
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
            />
            <Anchor component={Link} to="/" underline="never" c="inherit" fw={700}>
              <Group gap="xs" wrap="nowrap">
                <img src="/app/icon.svg" alt="" width={24} height={24} />
                <Text span inherit visibleFrom="xs">
                  Backup Observatory
                </Text>
              </Group>
            </Anchor>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <ActionIcon
              variant="default"
              size="lg"
              aria-label="Go to"
              data-hint="Go to… (Ctrl+K)"
              onClick={openPalette}
            >
              <MagnifyingGlassIcon width={18} height={18} />
            </ActionIcon>
            <ColorSchemeSwitch />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Pages">
        {places.map(({ to, label, icon: Icon }) => (
          <NavLink
            key={to}
            component={Link}
            to={to}
            label={label}
            leftSection={<Icon width={18} height={18} />}
            active={to === '/' ? path === '/' : path.startsWith(to)}
            aria-current={path === to ? 'page' : undefined}
            onClick={menu.close}
          />
        ))}
        <NavLink
          href="/docs"
          label="API documents"
          mt="auto"
          c="dimmed"
          leftSection={<ReaderIcon width={18} height={18} />}
        />
        <LogOut />
      </AppShell.Navbar>
      <AppShell.Main>
        <Outlet />
      </AppShell.Main>
      <Hints />
      <LateNotices />
      {isPaletteWanted && (
        <Suspense>
          <Palette />
        </Suspense>
      )}
    </AppShell>
  );
}

/** Loads what shows notices after the page itself is drawn. */
function LateNotices() {
  return (
    usePainted() && (
      <Suspense>
        <Notices />
      </Suspense>
    )
  );
}

function ColorSchemeSwitch() {
  const { colorScheme, toggleColorScheme } = useMantineColorScheme();
  const label = colorScheme === 'dark' ? 'Use the light theme' : 'Use the dark theme';
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={label}
      data-hint={label}
      onClick={toggleColorScheme}
    >
      {colorScheme === 'dark' ? (
        <SunIcon width={18} height={18} />
      ) : (
        <MoonIcon width={18} height={18} />
      )}
    </ActionIcon>
  );
}

function LogOut() {
  const { data } = useQuery(me);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const logOut = async () => {
    try {
      await api.DELETE('/auth/session');
    } catch (error) {
      const isOver = error instanceof ApiError && error.status === 401;
      if (!isOver) {
        const { message } = error as Error;
        await notify({ color: 'red', title: 'You are still logged in', message });
        return;
      }
    }
    queries.clear();
    await navigate({ to: '/login' });
  };
  return (
    <NavLink
      component="button"
      label="Log out"
      description={data?.username}
      c="dimmed"
      leftSection={<ExitIcon width={18} height={18} />}
      onClick={() => void logOut()}
    />
  );
}
