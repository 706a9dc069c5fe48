import { Badge, NavLink } from '@mantine/core';
import { ExitIcon, ReaderIcon } from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useRouterState } from '@tanstack/react-router';
import { basePath } from '../api/base-path.ts';
import { ApiError, api } from '../api/client.ts';
import { me, overview } from '../api/queries.ts';
import { formatCount } from '../parts/format.ts';
import { notify } from '../parts/notify.ts';
import { places } from './places.ts';

/** The links to all pages. `onFollow` is called when one is followed. */
export default function Navigation({ onFollow }: { onFollow: () => void }) {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  return (
    <>
      {places.map(({ to, label, icon: Icon }) => (
        <NavLink
          key={to}
          component={Link}
          to={to}
          label={label}
          leftSection={<Icon width={18} height={18} />}
          rightSection={to === '/incidents' ? <OpenIncidents /> : undefined}
          active={to === '/' ? path === '/' : path.startsWith(to)}
          aria-current={path === to ? 'page' : undefined}
          onClick={onFollow}
        />
      ))}
      <NavLink
        href={`${basePath}/docs`}
        label="API documentation"
        mt="auto"
        c="dimmed"
        leftSection={<ReaderIcon width={18} height={18} />}
      />
      <LogOut />
    </>
  );
}

/** The number of incidents that nobody has acknowledged. */
function OpenIncidents() {
  const { data } = useQuery(overview);
  const count = data?.incidents.unacknowledged ?? 0;
  if (count === 0) return null;
  return (
    <Badge color="red" variant="filled" aria-label={`${formatCount(count)} unacknowledged`}>
      {formatCount(count)}
    </Badge>
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
      const isExpired = error instanceof ApiError && error.status === 401;
      if (!isExpired) {
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
