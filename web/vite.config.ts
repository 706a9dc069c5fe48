import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { firstPageBudget } from './first-page-budget.ts';
import { startScript } from './start-script.ts';

// Browsers that support light-dark(). It must not be compiled away, because Mantine sets the color scheme.
const target = ['chrome123', 'edge123', 'firefox128', 'safari17.5'];
const server = process.env.SERVER_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  base: '/app/',
  // The server moves the addresses in index.html below its base path. Scripts and styles find theirs by themselves.
  experimental: {
    renderBuiltUrl: (_file, { hostType }) => (hostType === 'html' ? undefined : { relative: true }),
  },
  plugins: [react(), startScript(target), firstPageBudget()],
  build: {
    target,
    sourcemap: false,
    // One file with everything that the first page needs: a browser fetches only six at a time.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'first-page', tags: ['$initial'] }] } },
    },
  },
  // `npm run dev` proxies everything but the page itself to a running server.
  server: { proxy: { '^/(?!app/)': server } },
});
