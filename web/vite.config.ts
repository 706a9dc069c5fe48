import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const server = process.env.SERVER_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  base: '/app/',
  plugins: [react()],
  build: { target: 'es2022', sourcemap: false },
  // `npm run dev`: everything but the page itself is asked of a server that runs already.
  server: { proxy: { '^/(?!app/)': server } },
});
