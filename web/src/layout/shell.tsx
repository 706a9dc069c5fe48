import { Anchor, AppShell, Burger, Group, Text } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { Link, Outlet } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { pagePath } from '../api/base-path.ts';
import { usePainted } from '../parts/use-painted.ts';
import { Hints } from './hints.tsx';
import { paletteQuery } from './palette-query.ts';

// The state of the backups comes first, the navigation after it.
const Controls = lazy(() => import('./controls.tsx'));
const Navigation = lazy(() => import('./navigation.tsx'));
// Most visits need neither.
const Notices = lazy(() => import('./notices.tsx'));
const Palette = lazy(() => import('./palette.tsx'));

/** The frame around every page but the login. Without children, it shows the page at the current address. */
export function Shell({ children = <Outlet /> }: { children?: ReactNode }) {
  const [isOpen, menu] = useDisclosure();
  const isPainted = usePainted();
  const [isPaletteWanted, palette] = useDisclosure();
  const openPalette = () => {
    paletteQuery.collect();
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
            <Anchor
              component={Link}
              to="/"
              underline="never"
              c="inherit"
              fw={700}
              aria-label="Backup Observatory"
            >
              <Group gap="xs" wrap="nowrap">
                <img src={`${pagePath}icon.svg`} alt="" width={24} height={24} />
                <Text span inherit visibleFrom="xs">
                  Backup Observatory
                </Text>
              </Group>
            </Anchor>
          </Group>
          {isPainted && (
            <Suspense>
              <Controls openPalette={openPalette} />
            </Suspense>
          )}
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Pages">
        {isPainted && (
          <Suspense>
            <Navigation onFollow={menu.close} />
          </Suspense>
        )}
      </AppShell.Navbar>
      <AppShell.Main>{children}</AppShell.Main>
      <Hints />
      {isPainted && (
        <Suspense>
          <Notices />
        </Suspense>
      )}
      {isPaletteWanted && (
        <Suspense>
          <Palette />
        </Suspense>
      )}
    </AppShell>
  );
}
