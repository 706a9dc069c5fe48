// Loaded into a server before anything else (`node --import`). On SIGUSR2, it reports what keeps the process busy.
// Redirects requests for Neon to the stand-in at NEON_STAND_IN.

const fetchOfNode = globalThis.fetch;
const standIn = process.env.NEON_STAND_IN;
if (standIn !== undefined) {
  globalThis.fetch = (input, init) => {
    const isForNeon = /^https:\/\/api\.[^/]*\.aws\.neon\.tech\/sql$/.test(String(input));
    return fetchOfNode(isForNeon ? standIn : input, init);
  };
}

process.on('SIGUSR2', () => {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  process.stderr.write(`resources ${JSON.stringify(counts)}\n`);
});
