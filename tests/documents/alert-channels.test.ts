import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { channelKinds } from '../../lib/channels/kinds.ts';

it.each(channelKinds.map(({ kind, schemes: [scheme] }) => [kind, scheme]))(
  'docs/alert-channels.md says how an address of %s is written',
  async (_kind, scheme) => {
    const text = await readFile('docs/alert-channels.md', 'utf8');
    const table = text.split('\n').filter((line) => line.startsWith('|'));
    expect(table.some((line) => line.includes(`\`${scheme}:`))).toBe(true);
  },
);
