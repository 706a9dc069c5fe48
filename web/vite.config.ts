import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const server = process.env.SERVER_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  base: '/app/',
  plugins: [react()],
  // Browsers that know light-dark(), which must not be rewritten: Mantine sets the color scheme.
  build: { target: ['chrome123', 'edge123', 'firefox128', 'safari17.5'], sourcemap: false },
  // `npm run dev`: everything but the page itself is asked of a server that runs already.
  server: { proxy: { '^/(?!app/)': server } },
});
