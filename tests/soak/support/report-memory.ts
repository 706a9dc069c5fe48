// Loaded before a server's own script: asked over IPC, it says what the process holds after a collection.

process.on('message', (asked) => {
  if (asked !== 'memory') return;
  globalThis.gc?.();
  globalThis.gc?.();
  process.send?.(process.memoryUsage());
});
// The server ends when its own work does.
process.channel?.unref();
