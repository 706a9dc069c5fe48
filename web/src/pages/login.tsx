import {
  Alert,
  Button,
  Center,
  Loader,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect } from 'react';
import { pagePath } from '../api/base-path.ts';
import { ApiError, api, type Schemas } from '../api/client.ts';
import { me } from '../api/queries.ts';

type Credentials = Schemas['Login'] | Schemas['LoginCode'];

/** Logs in with a password, or with the code after the `#` of a login link. */
export function LoginPage() {
  useDocumentTitle('Log in · Backup Observatory');
  const { from } = useSearch({ from: '/login' });
  const router = useRouter();
  const queries = useQueryClient();
  const login = useMutation({
    async mutationFn(body: Credentials) {
      await api.POST('/auth/session', { body });
      queries.clear();
      // Without the cookie, the next page would ask for the login again, and never say why.
      await queries.fetchQuery(me).catch((error) => {
        throw isStatus(error, 401) ? new Error(NO_COOKIE) : error;
      });
    },
    onSuccess() {
      router.history.push(placeOf(from));
    },
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: the code is used once, when the page opens.
  useEffect(() => {
    const code = location.hash.slice(1);
    if (code === '') return;
    history.replaceState(history.state, '', location.pathname + location.search);
    login.mutate({ code });
  }, []);

  const usesCode = login.variables !== undefined && 'code' in login.variables;
  if (usesCode && !login.isError) {
    return (
      <Center mih="100vh">
        <Loader aria-label="Logging in" />
      </Center>
    );
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    login.mutate({
      username: String(form.get('username')),
      password: String(form.get('password')),
    });
  };
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="xl" w="100%" maw={400} radius="md">
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h3">
              Backup Observatory
            </Title>
            {login.error && (
              <Alert color="red" role="alert">
                {explain(login.error, usesCode)}
              </Alert>
            )}
            <TextInput
              name="username"
              label="User name"
              defaultValue="admin"
              autoComplete="username"
              required
            />
            <PasswordInput
              name="password"
              label="Password"
              autoComplete="current-password"
              required
              autoFocus
            />
            <Button type="submit" loading={login.isPending}>
              Log in
            </Button>
            <Text size="sm" c="dimmed">
              <code>npm start</code> stores the password as AUTH_PASSWORD in{' '}
              <code>DATA_DIR/local.env</code>, and prints a link that logs you in without it.
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

/** Where to go after the login: only to a place on this page, wherever a crafted link points. */
function placeOf(from: string | undefined): string {
  const within = (from ?? '/').replace(/^\//, '');
  const { origin, pathname, search, hash } = new URL(`${pagePath}${within}`, location.origin);
  const isHere = origin === location.origin && pathname.startsWith(pagePath);
  return isHere ? `${pathname}${search}${hash}` : pagePath;
}

const NO_COOKIE =
  'The login was right, but your browser does not send the session cookie back. Allow cookies for this address. Behind a proxy, let it pass the cookie on unchanged, and X-Forwarded-Proto say what your browser uses.';

const isStatus = (error: unknown, status: number) =>
  error instanceof ApiError && error.status === status;

function explain(error: Error, usesCode: boolean): string {
  const isRefused = isStatus(error, 401);
  if (isRefused && usesCode) {
    return 'This login link has already been used or is more than 10 minutes old. Log in with your password.';
  }
  return isRefused ? 'Wrong user name or password.' : error.message;
}
