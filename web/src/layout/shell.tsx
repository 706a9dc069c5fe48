import {
  ActionIcon,
  Anchor,
  AppShell,
  Burger,
  Group,
  Menu,
  NavLink,
  Text,
  Tooltip,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { Spotlight, spotlight } from '@mantine/spotlight';
import {
  ChatBubbleIcon,
  CubeIcon,
  ExitIcon,
  FileTextIcon,
  HomeIcon,
  ListBulletIcon,
  MagnifyingGlassIcon,
  MoonIcon,
  PersonIcon,
  SunIcon,
} from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { ApiError, api } from '../api/client.ts';
import { me } from '../api/queries.ts';

const places = [
  { to: '/', label: 'Overview', icon: HomeIcon },
  { to: '/runs', label: 'Runs', icon: ListBulletIcon },
  { to: '/repositories', label: 'Repositories', icon: CubeIcon },
  { to: '/logs', label: 'Logs', icon: FileTextIcon },
  { to: '/search', label: 'Search', icon: MagnifyingGlassIcon },
  { to: '/chat', label: 'Chat', icon: ChatBubbleIcon },
] as const;

/** What every page but the login has around it. */
export function Shell() {
  const [isOpen, menu] = useDisclosure();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const navigate = useNavigate();
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
            <Tooltip label="Go to… (Ctrl+K)">
              <ActionIcon variant="default" size="lg" aria-label="Go to" onClick={spotlight.open}>
                <MagnifyingGlassIcon width={18} height={18} />
              </ActionIcon>
            </Tooltip>
            <ColorSchemeSwitch />
            <Account />
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
          leftSection={<FileTextIcon width={18} height={18} />}
        />
      </AppShell.Navbar>
      <AppShell.Main>
        <Outlet />
      </AppShell.Main>
      <Spotlight
        shortcut={['mod + K']}
        highlightQuery
        nothingFound="Nothing found"
        searchProps={{ placeholder: 'Go to…', 'aria-label': 'Go to' }}
        actions={places.map(({ to, label, icon: Icon }) => ({
          id: to,
          label,
          leftSection: <Icon width={18} height={18} />,
          onClick: () => void navigate({ to }),
        }))}
      />
    </AppShell>
  );
}

function ColorSchemeSwitch() {
  const { colorScheme, toggleColorScheme } = useMantineColorScheme();
  const label = colorScheme === 'dark' ? 'Use the light theme' : 'Use the dark theme';
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" size="lg" aria-label={label} onClick={toggleColorScheme}>
        {colorScheme === 'dark' ? (
          <SunIcon width={18} height={18} />
        ) : (
          <MoonIcon width={18} height={18} />
        )}
      </ActionIcon>
    </Tooltip>
  );
}

function Account() {
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
        notifications.show({ color: 'red', title: 'You are still logged in', message });
        return;
      }
    }
    queries.clear();
    await navigate({ to: '/login' });
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label="Account">
          <PersonIcon width={18} height={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{data?.username}</Menu.Label>
        <Menu.Item leftSection={<ExitIcon width={16} height={16} />} onClick={() => void logOut()}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
