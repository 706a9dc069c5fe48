import '@mantine/core/styles.css';
import { MantineProvider, Title } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';

const routeTree = createRootRoute({ component: () => createElement(Title, null, 'Empty') });
const router = createRouter({ routeTree, basepath: '/app' });

createRoot(document.querySelector('#root')).render(
  createElement(
    MantineProvider,
    null,
    createElement(
      QueryClientProvider,
      { client: new QueryClient() },
      createElement(RouterProvider, { router }),
    ),
  ),
);
