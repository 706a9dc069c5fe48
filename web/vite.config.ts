import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { firstPageBudget } from './first-page-budget.ts';
import { startScript } from './start-script.ts';

// Browsers that know light-dark(), which must not be rewritten: Mantine sets the color scheme.
const target = ['chrome123', 'edge123', 'firefox128', 'safari17.5'];
const server = process.env.SERVER_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  base: '/app/',
  plugins: [react(), startScript(target), firstPageBudget()],
  build: {
    target,
    sourcemap: false,
    // One file for what the first page needs: a browser fetches six at a time.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'first-page', tags: ['$initial'] }] } },
    },
  },
  // `npm run dev`: everything but the page itself is asked of a server that runs already.
  server: { proxy: { '^/(?!app/)': server } },
});
