import '@mantine/core/styles.css';
import './start/first-sentence.css';
import { type CSSVariablesResolver, createTheme, MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/client.ts';
import { createAppRouter } from './router.tsx';
import { removeFirstSentence } from './start/first-sentence.ts';

const usedColors = ['teal', 'red', 'orange', 'blue', 'gray'];

/** Darker than Mantine's own colors (lighter in the dark theme), whose contrast on a tint is too low for text. */
function readableTints(shade: number, mixed: string): Record<string, string> {
  return Object.fromEntries(
    usedColors.map((color) => [
      `--mantine-color-${color}-light-color`,
      `color-mix(in srgb, var(--mantine-color-${color}-${shade}), ${mixed} 35%)`,
    ]),
  );
}

const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': 'var(--mantine-color-gray-7)',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
    ...readableTints(9, 'black'),
  },
  dark: {
    '--mantine-color-dimmed': 'var(--mantine-color-dark-1)',
    '--mantine-color-error': 'var(--mantine-color-red-4)',
    ...readableTints(3, 'white'),
  },
});

// `role: none` keeps the header of a dialog from being announced as a second banner of the page.
const dialog = {
  defaultProps: {
    attributes: { header: { role: 'none' } },
    closeButtonProps: { 'aria-label': 'Close' },
  },
};

const theme = createTheme({
  primaryColor: 'teal',
  primaryShade: 9,
  autoContrast: true,
  cursorType: 'pointer',
  components: { Modal: { defaultProps: { ...dialog.defaultProps, size: 'lg' } }, Drawer: dialog },
});

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Only a lost connection (status 0) is worth a retry: otherwise the server has said what is wrong.
      retry: (count, error) => count < 2 && error instanceof ApiError && error.status === 0,
    },
  },
});
const router = createAppRouter(queries);
router.subscribe('onRendered', removeFirstSentence);

queries.getQueryCache().subscribe(({ type, query }) => {
  const { error } = query.state;
  const isLoggedOut = type === 'updated' && error instanceof ApiError && error.status === 401;
  if (isLoggedOut && router.state.location.pathname !== '/login') {
    void router.navigate({ to: '/login', search: { from: router.state.location.href } });
  }
});

// After a server update, the script files of the old page no longer exist: reload, at most once a minute.
window.addEventListener('vite:preloadError', () => {
  const last = Number(sessionStorage.getItem('reloaded'));
  if (Math.abs(Date.now() - last) < 60_000) return;
  sessionStorage.setItem('reloaded', String(Date.now()));
  window.location.reload();
});

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveVariables}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
